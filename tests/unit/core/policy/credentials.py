"""Credentials as they turn up in text: drawn anew from a seed, so that no key is written down here.

In each row the part between « and » is the secret; around it is what stands there in real output."""

import hashlib
from base64 import b64encode

LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
DIGITS = "0123456789"
BASE62 = UPPER + LOWER + DIGITS
URL64 = BASE62 + "-_"
HEX = "0123456789abcdef"
BASE32 = UPPER + "234567"


def drawn(seed: str, size: int, letters: str = BASE62) -> str:
    """The same letters every time, as random as a key's."""
    stream, number = b"", 0
    while len(stream) < size:
        stream += hashlib.sha256(f"{seed}:{number}".encode()).digest()
        number += 1
    return "".join(letters[byte % len(letters)] for byte in stream[:size])


def _jwt(seed: str) -> str:
    def part(text: str) -> str:
        return b64encode(text.encode()).decode().rstrip("=").replace("+", "-").replace("/", "_")

    claims = part('{"sub":"' + drawn(seed, 12) + '","iat":1718000000}')
    head = part('{"alg":"HS256","typ":"JWT"}')
    return f"{head}.{claims}.{drawn(seed, 43, URL64)}"


def _pem(kind: str, seed: str, ending: str = "\n") -> str:
    body = ending.join(drawn(f"{seed}{line}", 64, BASE62 + "+/") for line in range(6))
    return f"-----BEGIN {kind}PRIVATE KEY-----{ending}{body}{ending}-----END {kind}PRIVATE KEY-----"


def _basic(seed: str) -> str:
    return b64encode(f"admin:{drawn(seed, 14)}".encode()).decode()


CREDENTIALS: dict[str, str] = {
    "openai": f"OPENAI_API_KEY=«sk-{drawn('o1', 48)}»",
    "openai project": f"using key «sk-proj-{drawn('o2', 74, URL64)}» for the call",
    "openai service account": f'"«sk-svcacct-{drawn("o3", 60, URL64)}»"',
    "openai admin": f"«sk-admin-{drawn('o4', 60, URL64)}»\n",
    "openrouter": f"Authorization: Bearer «sk-or-v1-{drawn('o5', 64, HEX)}»",
    "deepseek": f"key «sk-{drawn('o6', 32, HEX)}»",
    "anthropic": f"x-api-key: «sk-ant-api03-{drawn('a1', 93, URL64)}AA»",
    "anthropic oauth": f"«sk-ant-oat01-{drawn('a2', 90, URL64)}»",
    "google api": f"?key=«AIza{drawn('g1', 35, URL64)}»&alt=json",
    "google oauth": f"access «ya29.{drawn('g2', 120, URL64)}» expires",
    "google client": f'"client_secret":"«GOCSPX-{drawn("g3", 28, URL64)}»"',
    "aws id": f"aws_access_key_id = «AKIA{drawn('w1', 16, BASE32)}»",
    "aws temporary id": f"«ASIA{drawn('w2', 16, BASE32)}»",
    "aws secret": f"aws_secret_access_key = «{drawn('w3', 40, BASE62 + '+/')}»",
    "aws secret in json": f'"SecretAccessKey": "«{drawn("w4", 40, BASE62 + "+/")}»",',
    "aws session": f"AWS_SESSION_TOKEN=«{drawn('w5', 200, BASE62 + '+/')}»",
    "github classic": f"https://api.github.com with «ghp_{drawn('h1', 36)}»",
    "github oauth": f"token «gho_{drawn('h2', 36)}»",
    "github user": f"«ghu_{drawn('h3', 36)}»",
    "github server": f"GITHUB_TOKEN: «ghs_{drawn('h4', 36)}»",
    "github refresh": f"«ghr_{drawn('h5', 76)}»",
    "github fine-grained": f"«github_pat_{drawn('h6', 22)}_{drawn('h7', 59)}»",
    "github in a url": f"https://«ghp_{drawn('h8', 36)}»@github.com/a/b.git",
    "gitlab": f"PRIVATE-TOKEN: «glpat-{drawn('l1', 20, URL64)}»",
    "slack bot": f"«xoxb-{drawn('s1', 12, DIGITS)}-{drawn('s2', 13, DIGITS)}-{drawn('s3', 24)}»",
    "slack user": f"«xoxp-{drawn('s4', 12, DIGITS)}-{drawn('s5', 12, DIGITS)}-{drawn('s6', 12, DIGITS)}-{drawn('s7', 32, HEX)}»",
    "slack app": f"«xapp-1-{drawn('s8', 11, UPPER + DIGITS)}-{drawn('s9', 13, DIGITS)}-{drawn('s10', 64, HEX)}»",
    "slack webhook": f"https://hooks.slack.com/services/«T{drawn('s11', 10, UPPER + DIGITS)}/B{drawn('s12', 10, UPPER + DIGITS)}"
    f"/{drawn('s13', 24)}»",
    "discord bot": f"login «M{drawn('d1', 25)}.{drawn('d2', 6, URL64)}.{drawn('d3', 38, URL64)}»",
    "discord webhook": f"https://discord.com/api/webhooks/«{drawn('d4', 19, DIGITS)}/{drawn('d5', 68, URL64)}»",
    "telegram": f"bot{drawn('t1', 10, DIGITS)}«:AA{drawn('t2', 33, URL64)}»/getMe",
    "stripe live": f"«sk_live_{drawn('p1', 24)}»",
    "stripe test": f"Stripe('«sk_test_{drawn('p2', 99)}»')",
    "stripe restricted": f"«rk_live_{drawn('p3', 99)}»",
    "stripe webhook": f"«whsec_{drawn('p4', 32)}»",
    "twilio": f"«SK{drawn('q1', 32, HEX)}»",
    "twilio auth": f"TWILIO_AUTH_TOKEN=«{drawn('q2', 32, HEX)}»",
    "sendgrid": f"«SG.{drawn('q3', 22, URL64)}.{drawn('q4', 43, URL64)}»",
    "mailgun": f"api:«key-{drawn('q5', 32, HEX)}»",
    "npm": f"//registry.npmjs.org/:_authToken=«npm_{drawn('n1', 36)}»",
    "pypi": f"password = «pypi-AgEIcHlwaS5vcmc{drawn('n2', 150, URL64)}»",
    "hugging face": f"HF_TOKEN=«hf_{drawn('n3', 34, UPPER + LOWER)}»",
    "groq": f"«gsk_{drawn('n4', 52)}»",
    "replicate": f"«r8_{drawn('n5', 37)}»",
    "xai": f"«xai-{drawn('n6', 80)}»",
    "perplexity": f"«pplx-{drawn('n7', 48)}»",
    "tavily": f"«tvly-{drawn('n8', 32)}»",
    "digitalocean": f"«dop_v1_{drawn('n9', 64, HEX)}»",
    "shopify": f"«shpat_{drawn('n10', 32, HEX)}»",
    "linear": f"«lin_api_{drawn('n11', 40)}»",
    "notion": f"«ntn_{drawn('n12', 46)}»",
    "vault": f"X-Vault-Token: «hvs.{drawn('n13', 90, URL64)}»",
    "nvidia": f"«nvapi-{drawn('n14', 64)}»",
    "databricks": f"DATABRICKS_TOKEN=«dapi{drawn('n15', 32, HEX)}»",
    "heroku": f"HEROKU_API_KEY=«{drawn('n16', 8, HEX)}-{drawn('n17', 4, HEX)}-4{drawn('n18', 3, HEX)}-a{drawn('n19', 3, HEX)}"
    f"-{drawn('n20', 12, HEX)}»",
    "cloudflare": f'CLOUDFLARE_API_TOKEN="«{drawn("n21", 40, URL64)}»"',
    "azure storage": f"AccountName=x;AccountKey=«{drawn('n22', 86, BASE62 + '+/')}==»;",
    "jwt": f"session «{_jwt('j1')}» ok",
    "jwt in a header": f"authorization: bearer «{_jwt('j2')}»",
    "jwt in a cookie": f"Set-Cookie: session=«{_jwt('j3')}»; HttpOnly",
    "rsa key": f"«{_pem('RSA ', 'k1')}»",
    "pkcs8 key": f"cat server\n«{_pem('', 'k2')}»\ndone",
    "ec key": f"«{_pem('EC ', 'k3')}»",
    "openssh key": f"«{_pem('OPENSSH ', 'k4')}»",
    "encrypted key": f"«{_pem('ENCRYPTED ', 'k5')}»",
    "key in json": '{"private_key": "«' + _pem("", "k6", "\\n") + '»\\n"}',
    "key that is cut": "«" + _pem("RSA ", "k7").partition("-----END")[0].rstrip() + "»",
    "age key": f"# public key: age1xyz\n«AGE-SECRET-KEY-1{drawn('k8', 58, UPPER + DIGITS)}»",
    "postgres url": f"postgres://app:«{drawn('u1', 16)}»@db.internal:5432/app",
    "redis url": f"REDIS_URL=redis://:«{drawn('u2', 20)}»@cache:6379/0",
    "amqp url": "amqp://worker:«s3cr3t-Queue»@mq/vhost",
    "basic auth url": "curl https://deploy:«Tr0ub4dor&3»@example.org/",
    "git remote": f"origin https://oauth2:«{drawn('u3', 20)}»@gitlab.com/a/b.git (fetch)",
    "bearer": f'-H "Authorization: Bearer «{drawn("b1", 40, URL64)}»"',
    "bearer in lower case": f"bearer «{drawn('b2', 32, HEX)}»",
    "basic": f"Authorization: Basic «{_basic('b3')}»",
    "token scheme": f"Authorization: token «{drawn('b4', 40, HEX)}»",
    "password in an environment": "DB_PASSWORD=«xK9#mPq2vL»",
    "password in yaml": "  password: «Wint3r!Harbor#88»",
    "password in json": '"password": "«q7Zr2Lw9pT4x»"',
    "password in toml": "password = '«n0tAw0rd8fK2q9Zx»'",
    "password in code": 'connect(user="a", password="«vR8tYk2LmQ5w»")',
    "password in a dsn": "host=db user=app password=«8Jh2kLp0QwEr» dbname=x",
    "pwd in ado": "Server=x;Uid=sa;Pwd=«P4ssw0rd!x9»;",
    "passphrase": "passphrase: «Zebra$91-kiwi»",
    "client secret": f"client_secret=«{drawn('c1', 32)}»",
    "secret key of a framework": f"SECRET_KEY = '«{drawn('c2', 50, BASE62 + '!@#$%^&*')}»'",
    "token in yaml": f"token: «{drawn('c3', 24)}»",
    "refresh token": f'"refresh_token":"«{drawn("c4", 43, URL64)}»"',
    "csrf": f"csrf_token=«{drawn('c5', 32)}»",
    "api key in a header": f"X-Api-Key: «{drawn('c6', 32)}»",
    "api key in a query": f"https://api.example.org/v1?api_key=«{drawn('c7', 32, HEX)}»",
    "access key": f"access_key: «{drawn('c8', 20, UPPER + DIGITS)}»",
    "private key of a chain": f"PRIVATE_KEY=0x«{drawn('c9', 64, HEX)}»".replace("0x«", "«0x"),
    "encryption key": f"ENCRYPTION_KEY=«{drawn('c10', 44, BASE62 + '+/')}»",
    "service key": f"service_key: «{drawn('c11', 32, HEX)}»",
}
