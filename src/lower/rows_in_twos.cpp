#include "lower/rows_in_twos.h"

#include <algorithm>

#include "base/error.h"

namespace ingot::lowering {
namespace {

using namespace loop;
using Places = std::map<std::string, Sym, std::less<>>;

// A copy of statements for another row: everything that is defined in them has a name of its own.
class Copy {
 public:
  Copy(Places places, const Unique& unique, bool own_loops)
      : places_(std::move(places)), unique_(unique), own_loops_(own_loops) {}

  std::vector<Stmt> of(const std::vector<Stmt>& body) {
    std::vector<Stmt> result;
    for (const Stmt& stmt : body) {
      result.push_back(std::visit([this](auto s) -> Stmt { return copied(std::move(s)); }, stmt));
    }
    return result;
  }

 private:
  std::string defined(const std::string& name) {
    const std::string own = unique_(name);
    names_[name] = own;
    places_.insert_or_assign(name, Sym::var(own));
    return own;
  }
  std::string named(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }
  Sym at(const Sym& place) const { return place.substitute(places_); }
  Operand operand(const Operand& operand) const {
    const auto* name = std::get_if<std::string>(&operand);
    return name == nullptr ? operand : Operand(named(*name));
  }
  template <class Checked>
  void place_checks(Checked* statement) const {
    for (Guard& guard : statement->guards) guard = {at(guard.value), at(guard.lo), at(guard.hi)};
    statement->reported = at(statement->reported);
  }

  Stmt copied(Let let) {
    for (Operand& each : let.operands) each = operand(each);
    let.name = defined(let.name);
    return let;
  }
  Stmt copied(Load load) {
    load.index = at(load.index);
    place_checks(&load);
    load.name = defined(load.name);
    return load;
  }
  Stmt copied(IndexValue index) {
    index.value = at(index.value);
    place_checks(&index);
    index.name = defined(index.name);
    return index;
  }
  Stmt copied(Accumulator acc) {
    acc.from = named(acc.from);
    acc.name = defined(acc.name);
    return acc;
  }
  Stmt copied(Accumulate accumulate) {
    accumulate.accumulator = named(accumulate.accumulator);
    accumulate.value = operand(accumulate.value);
    if (accumulate.lane) accumulate.lane = at(*accumulate.lane);
    return accumulate;
  }
  Stmt copied(Finish finish) {
    finish.accumulator = named(finish.accumulator);
    finish.name = defined(finish.name);
    return finish;
  }
  Stmt copied(Store store) {
    store.index = at(store.index);
    store.value = operand(store.value);
    return store;
  }
  Stmt copied(Fetch fetch) {
    fetch.dst_index = at(fetch.dst_index);
    fetch.src_index = at(fetch.src_index);
    fetch.count = at(fetch.count);
    return fetch;
  }
  Stmt copied(Await await) { return await; }
  Stmt copied(Prefetch hint) {
    hint.index = at(hint.index);
    return hint;
  }
  Stmt copied(const Product&) { fail_internal("lower", "a product among rows in twos"); }
  Stmt copied(const Transpose&) { fail_internal("lower", "a tile among rows in twos"); }
  Stmt copied(const std::shared_ptr<Loop>& loop) {
    auto own = std::make_shared<Loop>(*loop);
    own->extent = at(loop->extent);
    if (own_loops_) own->var = defined(loop->var);
    own->body = of(loop->body);
    return own;
  }

  Places places_;
  const Unique& unique_;
  bool own_loops_;
  std::map<std::string, std::string> names_;
};

const Loop* loop_of(const Stmt& stmt) {
  const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt);
  return loop == nullptr ? nullptr : loop->get();
}

// Both rows' statements, loops together: in a vector loop the first row's come first, since sums of
// columns go from one to the other.
std::vector<Stmt> together(const std::vector<Stmt>& first, const std::vector<Stmt>& second) {
  INGOT_CHECK(first.size() == second.size(), "rows in twos of {} and {} statements", first.size(),
              second.size());
  std::vector<Stmt> result;
  for (size_t begin = 0; begin < first.size();) {
    size_t end = begin;
    while (end < first.size() && loop_of(first[end]) == nullptr) ++end;
    for (const auto* row : {&first, &second}) {
      result.insert(result.end(), row->begin() + static_cast<std::ptrdiff_t>(begin),
                    row->begin() + static_cast<std::ptrdiff_t>(end));
    }
    begin = end;
    if (begin == first.size()) break;
    const Loop &a = *loop_of(first[begin]), &b = *loop_of(second[begin]);
    auto both = std::make_shared<Loop>(a);
    if (a.kind == LoopKind::vector) {
      both->body.insert(both->body.end(), b.body.begin(), b.body.end());
    } else {
      both->body = together(a.body, b.body);
    }
    result.emplace_back(std::move(both));
    ++begin;
  }
  return result;
}

}  // namespace

std::vector<Stmt> rows_in_twos(const Loop& rows, const Unique& unique) {
  const std::string pair = unique("pair");
  const Sym first = Sym(2) * Sym::var(pair);
  auto twos = std::make_shared<Loop>();
  twos->var = pair;
  twos->kind = LoopKind::serial;
  twos->extent = floor_div(rows.extent, Sym(2));
  const Unique same = [](const std::string& name) { return name; };
  twos->body = together(Copy({{rows.var, first}}, same, false).of(rows.body),
                        Copy({{rows.var, first + Sym(1)}}, unique, false).of(rows.body));
  std::vector<Stmt> result{twos};
  if (Sym rest = mod(rows.extent, Sym(2)); !rest.is(0)) {
    auto last = std::make_shared<Loop>();
    last->var = unique("last");
    last->kind = LoopKind::serial;
    last->extent = rest;
    last->body = Copy({{rows.var, rows.extent - Sym(1)}}, unique, true).of(rows.body);
    result.emplace_back(std::move(last));
  }
  return result;
}

}  // namespace ingot::lowering
