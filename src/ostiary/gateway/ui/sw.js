// Offline shell: when the gateway cannot be reached, the app still opens and says so. The network always comes first,
// so an update is never hidden; nothing but the app's own public files is ever kept.
const KEPT = "ostiary-shell";
const root = new URL("./", self.location);

const isShell = (request) => {
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== root.origin || !url.pathname.startsWith(root.pathname)) return false;
  const rest = url.pathname.slice(root.pathname.length);
  return rest === "" || rest === "icon.svg" || rest === "manifest.webmanifest" || rest.startsWith("ui/");
};

const keep = async (request, response) => {
  const cache = await caches.open(KEPT);
  const path = new URL(request.url).pathname;
  const set = /\/ui\/[0-9a-f]+\//.exec(path)?.[0];
  if (set) {
    // A new set of files replaces the old one.
    for (const old of await cache.keys()) if (old.url.includes("/ui/") && !old.url.includes(set)) await cache.delete(old);
  }
  await cache.put(request, response);
};

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  if (!isShell(event.request)) return;
  event.respondWith(
    fetch(event.request).then(
      (response) => {
        if (response.ok) event.waitUntil(keep(event.request, response.clone()));
        return response;
      },
      async (error) => {
        const kept = await caches.match(event.request, { ignoreSearch: true });
        if (kept) return kept;
        throw error;
      },
    ),
  );
});
