// The smallest useful client: connect, ask for health, go. Needs a Node with WebSocket (22, or 20 --experimental-websocket).
const ws = new WebSocket(process.env.OSTIARY_URL);
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
  if (frame.type === "res" && frame.id === "c1" && frame.ok) ask("h1", "health");
  if (frame.type === "res" && frame.id === "h1") {
    console.log(JSON.stringify(frame.payload));
    ws.close();
  }
};
