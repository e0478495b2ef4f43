// The switch between the system's colours, light and dark; the choice is kept in this browser.
const ORDER = ["system", "light", "dark"];

function show(button, name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
}

export function themed(button) {
  let name = localStorage.getItem("dgraph-theme") || "system";
  show(button, name);
  button.addEventListener("click", () => {
    name = ORDER[(ORDER.indexOf(name) + 1) % ORDER.length];
    localStorage.setItem("dgraph-theme", name);
    show(button, name);
  });
}
