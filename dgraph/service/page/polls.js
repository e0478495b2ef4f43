// Polls of the service, and the notice of what failed: of a poll until it succeeds again, of an action until the next one.
const box = document.getElementById("notice");
const failed = new Map();
let refused = null;

function words(error) {
  return error.status === 401
    ? "Your login has ended. Make a new one where the service runs, and open its address: curl --unix-socket STATE/service.sock -X POST http://localhost/v1/login"
    : error.message;
}

function show() {
  const poll = failed.keys().next().value, error = refused || failed.get(poll);
  box.hidden = !error;
  const old = error && !refused && error.status !== 401 && error.status !== 0;
  box.textContent = !error ? "" : `${old ? `The ${poll} shown here are old: ` : ""}${words(error)}`;
}

// Shows why an action was refused; null: the next one was not.
export function notice(error) {
  refused = error;
  show();
}

// Repeats a poll while the page is visible; returns after its first turn. name: what the poll shows, in the plural.
export async function every(pause, name, work) {
  const turn = async () => {
    if (!document.hidden) {
      try {
        await work();
        failed.delete(name);
        if (refused && [0, 401].includes(refused.status)) refused = null;
      } catch (error) { failed.set(name, error); }
      show();
    }
    setTimeout(turn, pause);
  };
  await turn();
}
