// The lab: a tab for each panel. Arrow keys go from tab to tab; the address keeps the panel.
(() => {
  const {element} = ingot.dom;
  const frames = ingot.panels.map((panel) => new ingot.Frame(panel));
  const tabs = frames.map(
      ({panel}, index) => element(
          'button', {
            type: 'button',
            role: 'tab',
            id: `tab-${panel.id}`,
            'aria-controls': `panel-${panel.id}`,
            onclick: () => open(panel.id),
            onkeydown: (event) => move(event, index),
          },
          element('span', {class: 'tab-number', 'aria-hidden': true}, index + 1), panel.title));

  function open(id, values) {
    const chosen = Math.max(0, frames.findIndex((frame) => frame.panel.id === id));
    frames.forEach((frame, index) => {
      frame.node.hidden = index !== chosen;
      if (index !== chosen) frame.stop();
      tabs[index].setAttribute('aria-selected', index === chosen);
      tabs[index].tabIndex = index === chosen ? 0 : -1;
    });
    history.replaceState(null, '', `#${frames[chosen].panel.id}`);
    if (values) {
      frames[chosen].put(values);
      frames[chosen].node.focus();
    }
  }

  function move(event, index) {
    const to =
        {ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    open(frames[next].panel.id);
    tabs[next].focus();
  }

  document.querySelector('nav').append(...tabs);
  document.querySelector('main').append(...frames.map((frame) => frame.node));
  open(location.hash.slice(1));
  window.addEventListener('hashchange', () => open(location.hash.slice(1)));
  ingot.lab = {open, frames};
})();
