// A table that is sorted by its headings and filtered by words and choices.
(() => {
  const {element, replace} = ingot.dom;
  const {counted} = ingot.format;
  const drawnAtMost = 400;  // rows, until all are asked for

  // columns: [{ name, value(row) for sorting, show(row), number, filter, wrap }]; `filter`: a
  // choice of the column's values stands above the table; `wrap`: its cells take several lines. One
  // row of words searches all columns.
  function sortedTable(rows, columns, {label, noun, start = null}) {
    let sorted = start;  // { column, down }
    const chosen = new Map();
    const body = element('tbody', {});
    const count = element('span', {class: 'place', role: 'status'});
    const headings = columns.map((column, index) => {
      const button = element(
          'button', {type: 'button', class: 'sort', onclick: () => sortBy(index)}, column.name);
      return element('th', {scope: 'col', class: column.number ? 'number' : null}, button);
    });
    const words = element('input', {
      type: 'search',
      placeholder: 'Filter',
      'aria-label': `Filter ${label}`,
      oninput: () => show()
    });
    const choices = columns.filter((column) => column.filter).map((column) => {
      const values = [...new Set(rows.map(column.value))].sort();
      const select = element(
          'select', {
            'aria-label': column.name,
            onchange: () => {
              chosen.set(column, select.value);
              show();
            }
          },
          element('option', {value: ''}, `${column.name}: all`),
          values.map((value) => element('option', {value}, value)));
      return select;
    });
    const made = new Map();  // rows are drawn once
    let most = drawnAtMost;
    const all = () => {
      most = Infinity;
      show();
    };
    const rest = element('button', {type: 'button', class: 'rest', onclick: all});
    window.addEventListener('beforeprint', all);

    function sortBy(index) {
      const down =
          sorted && sorted.column === index ? !sorted.down : Boolean(columns[index].number);
      sorted = {column: index, down};
      show();
    }

    const compare = (one, other) => {
      const [a, b] = [columns[sorted.column].value(one), columns[sorted.column].value(other)];
      const order = typeof a === 'number' && typeof b === 'number' ?
          a - b :
          String(a ?? '').localeCompare(String(b ?? ''));
      return sorted.down ? -order : order;
    };

    function line(row) {
      if (!made.has(row)) {
        made.set(
            row,
            element(
                'tr', {},
                columns.map(
                    (column) => element(
                        'td',
                        {class: column.number ? 'number' :
                             column.wrap      ? 'wrap' :
                                                null},
                        column.show(row)))));
      }
      return made.get(row);
    }

    function show() {
      const asked = words.value.trim().toLowerCase();
      const left = rows.filter(
          (row) => [...chosen].every(
                       ([column, value]) => value === '' || String(column.value(row)) === value) &&
              (asked === '' ||
               columns.some(
                   (column) => String(column.value(row) ?? '').toLowerCase().includes(asked))));
      if (sorted) left.sort(compare);
      headings.forEach(
          (heading, index) => heading.setAttribute(
              'aria-sort',
              sorted && sorted.column === index ? (sorted.down ? 'descending' : 'ascending') :
                                                  'none'));
      replace(body, left.slice(0, most).map(line));
      rest.hidden = left.length <= most;
      rest.textContent = `Show all ${counted(left.length, noun)}`;
      count.textContent = left.length === rows.length ?
          counted(rows.length, noun) :
          `${left.length} of ${counted(rows.length, noun)}`;
    }

    show();
    return element(
        'div', {}, element('div', {class: 'tools'}, words, choices, count),
        element(
            'div', {class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': label},
            element('table', {}, element('thead', {}, element('tr', {}, headings)), body)),
        rest);
  }

  ingot.sortedTable = sortedTable;
})();
