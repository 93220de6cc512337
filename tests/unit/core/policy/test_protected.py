import pytest

from ostiary.core.policy.protected import protected_glob, protected_path

PROTECTED = [
    ".env",
    ".ENV",
    "app/.env",
    "./.env",
    "a/../.env",
    ".env.local",
    ".env.production",
    ".envrc",
    "prod.env",
    "config/dev.env",
    "~/.ssh/id_rsa",
    ".ssh/config",
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "backup/id_rsa.old",
    "~/.aws/credentials",
    ".aws/config",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".git-credentials",
    ".docker/config.json",
    ".kube/config",
    "kubeconfig",
    "staging.kubeconfig",
    "server.key",
    "tls/private.pem",
    "cert.p12",
    "keystore.jks",
    "passwords.kdbx",
    "/etc/shadow",
    "C:\\Users\\ann\\.ssh\\id_rsa",
    "secrets.yaml",
    "secret.txt",
    "my-secrets.json",
    "passwords.txt",
    "PASSWORD.TXT",
    "password",
    "credentials.json",
    "client_secret.json",
    "gcp-credentials.json",
    "token",
    "token.json",
    "apiToken.json",
    "api_token.txt",
    "githubtoken.cfg",
    "access-tokens.csv",
    "oauth_tokens.db",
    "keys/prod",
    "secrets/db",
    "config/credentials/aws.ini",
    "service-account.json",
    "terraform.tfstate",
    "prod.tfvars",
    ".bash_history",
    ".htpasswd",
    "/proc/self/environ",
    "/proc/1/environ",
    "/proc/1/root/etc/passwd",
    "passwords.md",
    "secrets.md",
    "credentials.db",
    "store.key",
    "audit.heads",
    "ostiary.json5",
    ".ostiary/bots/main/store.db",
    ".gnupg/secring.gpg",
    "creds.yml",
    "api_keys.json",
    ".vault-token",
    "logins.json",
    "key4.db",
    "wallet.keystore",
    ".config/gcloud/legacy.json",
    "a" * 5000,
]

ORDINARY = [
    "README.md",
    "src/tokenizer.py",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "design-tokens.json",
    "token.py",
    "src/auth/token.go",
    "secrets.py",
    "core/policy/secrets.py",
    "password-reset.html",
    "docs/passwords-and-you.md",
    "secretary.txt",
    "secretion.csv",
    "credentials_test.rs",
    "TokenBucket.java",
    "keys/index.ts",
    "src/keys/mod.rs",
    "secrets/README.md",
    "id_rsa.pub",
    "keys/deploy.pub",
    "cert.pem",
    "ca.pem",
    "fullchain.pem",
    "public.pem",
    "server-cert.pem",
    "public.key",
    ".env.example",
    ".env.sample",
    "env.py",
    "environment.yml",
    "environment.md",
    ".gitignore",
    "package.json",
    "package-lock.json",
    "notes/plan.md",
    "AGENTS.md",
    "keyboard.json",
    "monkey.txt",
    "key.py",
    "keymap.json",
    "passenger.csv",
    "compass.txt",
    "/etc/passwd.md",
    "token-usage.csv",
    "max_tokens.txt",
    "/etc/hosts",
    "",
    ".",
    "..",
    "/",
    "secrets.example.yaml",
    "report.pdf",
    "a/b/c",
    "identity",
    "IDENTITY.md",
    "config.json",
    "hosts.yml",
    "tests/test_secret.py",
    "src/env/index.js",
    "venv/bin/python",
    "signature.asc",
]


@pytest.mark.parametrize("path", PROTECTED)
def test_a_path_that_holds_secrets_is_protected_with_a_reason(path: str) -> None:
    assert protected_path(path) != ""


@pytest.mark.parametrize("path", ORDINARY)
def test_a_path_that_only_sounds_like_it_is_not(path: str) -> None:
    assert protected_path(path) == ""


def test_our_own_folders_are_protected_wherever_they_lie() -> None:
    state = ("/srv/Ostiary/home",)
    assert protected_path("/srv/ostiary/home/logs/ostiary.log", state=state) != ""
    assert protected_path("/srv/x/../ostiary/home", state=state) != ""
    assert protected_path("/srv/ostiary/homework.txt", state=state) == ""


def test_a_folder_may_be_looked_into_for_the_word_in_its_name_but_not_for_keys() -> None:
    assert protected_path("src/token", is_folder=True) == ""
    assert protected_path("src/token") != ""
    assert protected_path("~/.ssh", is_folder=True) != ""


@pytest.mark.parametrize("pattern", [".en*", ".e?v", "~/.ssh/id_*", ".s*h/id_rsa", "id_r*", ".aws/cred*", ".netr[c]"])
def test_a_pattern_that_can_only_mean_keys_is_protected(pattern: str) -> None:
    assert protected_glob(pattern) != ""


@pytest.mark.parametrize("pattern", ["*", "**", "*.py", "src/*", "*.md", ".*", "?", "[a-z]*", ".github/*", "README*", ".env"])
def test_a_pattern_that_means_much_else_is_not(pattern: str) -> None:
    assert protected_glob(pattern) == ""
