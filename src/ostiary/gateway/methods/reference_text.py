"""What the protocol's page says besides the tables."""

HEAD = """
# Socket protocol reference

How programs and pages talk to the gateway over a WebSocket. The tables are generated from the code
(`make docs`); a test keeps them current. The exact shape of everything is in
[protocol.schema.json](protocol.schema.json). Python programs use `ostiary.client` and need none of this.

## Connecting

Open a WebSocket at `/ws` of the gateway (`ws://127.0.0.1:18789/ws`). Every message is one JSON object in a text frame:

- a request `{"type": "req", "id", "method", "params"}`; `id` is yours, 1 to 128 characters, not one that is at work
- its response `{"type": "res", "id", "ok": true, "payload"}` or `{"type": "res", "id", "ok": false, "error": {"code",
  "message", "hint"?, "details"?, "retryAfterMs"?}}`
- an event `{"type": "event", "event", "payload", "seq", "stateVersion"?}`

The gateway begins with the event `connect.challenge`, whose nonce a device signs. The first request must be `connect`, within
10 seconds; it says which protocol versions the client speaks (this is 3), what it is, and who: `auth.token`,
`auth.password`, a `device`, or nothing if the page's cookie says it. The answer, `hello-ok`, lists the methods and events
this caller may use, who is present, how the house is, and the limits below. See [Security](../concepts/gateway-security.md)
for tokens, devices and scopes; `admin` includes the other scopes, nothing else includes anything.

## Rules

- **Unknown fields** in `params` are refused, as are values of the wrong type: `INVALID_PARAMS` says where in `details.path`.
- **Once only.** A method that changes something takes an `idempotencyKey` (8 to 128 characters). The same key with the same
  params gets the first call's result for 24 hours, also after a restart; with other params it is `CONFLICT`. After a lost
  connection, send the same request again.
- **Order.** Events are numbered per socket from 1. They are not sent again: after a gap or a reconnect, call `chat.history`
  for what you show.
- **Size.** A frame over `policy.maxPayload` (1 MiB) closes the socket with 1009; files go over HTTP to
  `POST /v1/ostiary/blobs` first.
- **Slow readers.** Beyond `policy.maxBufferedBytes` (1 MiB) of unsent bytes, `chat` deltas are skipped; if that does not
  help the socket is closed with 1013. `answered` always carries the whole text, so nothing is lost by a skipped delta.
- **At once.** 64 requests may be at work on one socket; more get `BUSY`.
- **Alive.** `tick` comes every 30 seconds. A ping of the protocol comes every 30 seconds too (`gateway.pingIntervalMs`); a
  client that does not answer one in the same time is closed with 1011. When the gateway stops it sends `shutdown`, then
  closes with 1012.
- Other closes: 1002 no common version, 1003 a binary frame, 1007 not UTF-8, 1008 not connected in time, not allowed, revoked,
  or too many frames that are none.

Deltas of one session are joined: the first comes at once, the following at most every 50 ms. A delta has the `offset` of its
first character in the text of its step; a higher `attempt` voids what came before. Results of tools are only in events of
sockets that asked for them (`verbose: "full"` in `chat.history` or `sessions.subscribe`); `chat.history` always has them.
`agent` answers twice with the same id: at once that the run is accepted, and when it has ended, how.
"""

EXAMPLES = """
## Example

The smallest client, for Node 22 or newer (older ones: `npm install ws` and `import { WebSocket } from "ws"`):

```js
const ws = new WebSocket("ws://127.0.0.1:18789/ws");
const ask = (id, method, params) => ws.send(JSON.stringify({ type: "req", id, method, params }));

ws.onopen = () =>
  ask("c1", "connect", {
    minProtocol: 3,
    maxProtocol: 3,
    client: { id: "cli", displayName: "example", version: "dev", platform: "node", mode: "cli" },
    auth: { token: process.env.OSTIARY_TOKEN },
  });

ws.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  if (frame.id === "c1" && frame.ok) ask("h1", "health");
  if (frame.id === "h1") {
    console.log(frame.payload);
    ws.close();
  }
};
```

The same in Python, and a question:

```python
import asyncio, os
from ostiary.client import connect

async def main():
    async with connect("http://127.0.0.1:18789", token=os.environ["OSTIARY_TOKEN"]) as gateway:
        print(await gateway.call("health"))
        async for piece in gateway.chat("agent:main:main", "Good morning"):
            if piece.kind == "text":
                print(piece.text, end="", flush=True)

asyncio.run(main())
```

What goes over the wire when something is said:

```
→ {"type":"req","id":"1","method":"chat.history","params":{"key":"agent:main:main"}}
← {"type":"res","id":"1","ok":true,"payload":{"turns":[],"more":false, ...}}
→ {"type":"req","id":"2","method":"chat.send","params":{"key":"agent:main:main","text":"Hi","idempotencyKey":"4f1c…"}}
← {"type":"res","id":"2","ok":true,"payload":{"status":"accepted","item":7,"text":""}}
← {"type":"event","event":"chat","payload":{"state":"started","turn":"turn_…","items":[7], ...},"seq":1}
← {"type":"event","event":"chat","payload":{"state":"delta","offset":0,"text":"Hello", ...},"seq":2}
← {"type":"event","event":"chat","payload":{"state":"answered","text":"Hello.", ...},"seq":3}
← {"type":"event","event":"chat","payload":{"state":"final","reply":"Hello.", ...},"seq":4}
```
"""
