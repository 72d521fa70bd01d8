// A report's page: title, what was asked, its sections, and where it comes from.
(() => {
  const {element} = ingot.dom;
  const data = ingot.dom.data();
  const {report} = data;
  const made = ingot.reports[data.kind](data);

  function environment({environment: where}) {
    const compilers = Object.entries(where.compilers || {})
                          .filter(([, version]) => version)
                          .map(([name, version]) => `${name}: ${version}`);
    return [
      `ingot ${where.version} (${where.git})`, where.device,
      where.driver ? `driver ${where.driver}` : null, ...compilers, `${where.threads} threads`,
      where.cpu, where.date
    ].filter(Boolean)
        .join(' · ');
  }

  const dims = Object.entries(report.dims || {}).map(([name, size]) => `${name} = ${size}`);
  document.querySelector('header').append(
      element('h1', {}, element('span', {class: 'brand'}, 'ingot '), made.title),
      element('p', {}, [`numerics ${report.numerics}`, ...dims].join(' · ')));
  document.querySelector('main').append(...made.sections.filter(Boolean));
  document.body.append(element('footer', {}, environment(report)));
  if (made.start) made.start();
})();
