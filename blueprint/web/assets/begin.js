/* Where scripts run, the walk that is for those without is not drawn; it is there again if the page cannot begin. */
document.documentElement.classList.add("alive");
addEventListener("error", () => { if (!window.ready) document.documentElement.classList.remove("alive"); });
