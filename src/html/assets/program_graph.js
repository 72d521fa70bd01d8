// The program of a report as nodes and edges: by ops, each edge with what fusion did to its bytes,
// or by kernels.
(() => {
  const {bytes, counted} = ingot.format;
  const copiesFrom = 40;  // in larger graphs an input stands beside each of its readers

  // The decision on an edge between two ops, if one was taken.
  function decisionsByEdge(report) {
    const edges = new Map();
    for (const decision of report.decisions) {
      if (decision.kind === 'sibling' || decision.kind === 'formula') continue;
      const key = `${decision.producer_op}\n${decision.consumer_op}`;
      if (!edges.has(key)) edges.set(key, decision);
    }
    return edges;
  }

  function opNodes(report) {
    const groups = new Map(report.groups.map((group) => [group.id, group]));
    return report.nodes.map(
        (node) => ({
          name: node.name,
          what: node.op,
          groups: node.groups,
          output: node.output,
          stored: node.op === 'input' || node.op === 'weight',
          operands: node.operands,
          bytes: node.bytes,
          title: `${node.name} = ${node.op}: ${node.type}, ${bytes(node.bytes)}${
              node.groups.map((id) => `\nkernel ${id}: ${groups.get(id).name}`).join('')}`,
        }));
  }

  // What becomes of the bytes of an edge from one op to another.
  function fateOf(from, to, decision) {
    const shared = from.groups.filter((id) => to.groups.includes(id));
    const why = decision ?
        `\n${decision.fused ? 'yes' : 'no'}, ${decision.reason}: ${decision.detail}` :
        '';
    if (from.stored)
      return {kind: 'read', label: '', title: `read by ${to.name}: ${bytes(from.bytes)}`};
    if (shared.length === 0)
      return {
        kind: 'kept',
        label: bytes(from.bytes),
        title: `${from.name} → ${to.name}: through memory, ${bytes(from.bytes)}${why}`
      };
    const saved = decision ? decision.bytes_saved : 0;
    return {
      kind: 'removed',
      label: saved > 0 ? `−${bytes(saved)}` : '',
      title: `${from.name} → ${to.name}: inside a kernel, ${bytes(saved)} saved at most${why}`
    };
  }

  function opGraph(report) {
    const nodes = opNodes(report);
    const position = new Map(nodes.map((node, index) => [node.name, index]));
    const decided = decisionsByEdge(report);
    const edges = [];
    const drawn = new Set();
    const copies = nodes.length > copiesFrom;
    [...nodes].forEach((node, to) => {
      for (const operand of new Set(node.operands)) {
        let from = position.get(operand);
        if (from === undefined || from >= to) continue;
        if (copies && nodes[from].stored && drawn.has(from))
          from = nodes.push({...nodes[from]}) - 1;
        drawn.add(from);
        edges.push(
            {from, to, ...fateOf(nodes[from], node, decided.get(`${operand}\n${node.name}`))});
      }
    });
    return {nodes, edges};
  }

  function kernelGraph(report) {
    const size = new Map(report.nodes.map((node) => [node.name, node.bytes]));
    const maker = new Map();
    const nodes = report.groups.map((group, index) => {
      for (const name of group.outputs) maker.set(name, index);
      return {
        name: group.name,
        what: `kernel ${group.id}, ${counted(group.ops.length, 'op')}`,
        groups: [group.id],
        stored: false,
        title: `kernel ${group.id}: ${group.ops.join(', ')}\n${group.reason}`
      };
    });
    // One edge for all tensors from one kernel to another.
    const edges = new Map();
    report.groups.forEach((group, to) => {
      for (const name of group.inputs) {
        const from = maker.get(name);
        if (from === undefined || from >= to) continue;
        const key = `${from} ${to}`;
        if (!edges.has(key)) edges.set(key, {from, to, kind: 'kept', names: [], total: 0});
        edges.get(key).names.push(name);
        edges.get(key).total += size.get(name) ?? 0;
      }
    });
    return {
      nodes,
      edges: [...edges.values()].map(
          (edge) => ({
            ...edge,
            label: `${edge.names.length > 1 ? `${edge.names.length} tensors, ` : ''}${
                bytes(edge.total)}`,
            title: `through memory: ${edge.names.join(', ')}`
          }))
    };
  }

  // { nodes: [{ name, what, groups, stored, output, title }], edges: [{ from, to, kind, label,
  // title }] }; kind of an edge: read (of an input or weight), kept (through memory), removed
  // (inside a kernel).
  ingot.programGraph = (report, by) => (by === 'ops' ? opGraph(report) : kernelGraph(report));
})();
