// The report of `ingot tune --register-caps`: what a bound on registers does to each kernel.
(() => {
  const { element, table } = ingot.dom;
  const { bytes, integer, microseconds, percent } = ingot.format;
  const known = (value, show) => (value === null || value === undefined ? '–' : show(value));

  function fastest(group) {
    const timed = group.candidates.filter((candidate) => candidate.measured_us !== null);
    return timed.length === 0 ? null : timed.reduce((best, one) => (one.measured_us < best.measured_us ? one : best));
  }

  function kernel(group) {
    const best = fastest(group);
    const rows = group.candidates.map((candidate) => [
      [candidate.cap === null ? 'no cap' : integer(candidate.cap), candidate === best ? element('span', { class: 'yes' }, ' fastest') : null],
      integer(candidate.registers), bytes(candidate.spill_store_bytes), bytes(candidate.spill_load_bytes), bytes(candidate.stack_bytes), integer(candidate.instructions),
      integer(candidate.blocks_per_sm), `${percent(candidate.occupancy)} (${candidate.occupancy_limit})`, known(candidate.measured_us, microseconds)]);
    return element('section', { class: 'card' }, element('h2', {}, group.kernel),
      group.obstacle ? element('p', { class: 'aside' }, group.obstacle)
        : element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': group.kernel },
          table(['cap', 'registers', 'spills stored', 'spills loaded', 'stack', 'instructions', 'blocks', 'occupancy', 'measured'], rows)));
  }

  ingot.reports.tune = ({ report }) => ({
    title: `${report.graph}: register caps on ${report.device}`,
    sections: [element('p', { class: 'aside' }, 'Spills and stack are bytes a thread. Higher occupancy is not faster by itself: where the device is here, the measured time decides.'),
      ...report.groups.map(kernel)],
  });
})();
