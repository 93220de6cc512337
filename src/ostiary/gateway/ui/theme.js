// Runs before the first paint, so that a chosen theme never flashes. Chosen: "light" or "dark"; absent: the system's.
try {
  const chosen = localStorage.getItem("ostiary.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing follows the system.
}
