// Compiled::tune_json: forms of a program's groups timed in turns, the fastest kept.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "api/environment.h"
#include "api/state.h"
#include "api/tuning_file.h"
#include "api/tuning_sites.h"
#include "base/float_environment.h"
#include "base/text.h"
#include "plan/choice.h"
#include "plan/plan_words.h"
#include "report/compare.h"
#include "report/race.h"

namespace ingot {
namespace {

using Json = ReportJson;
using Clock = std::chrono::steady_clock;

constexpr double share_of_compiling = 0.4;  // of the budget, after which no more forms are built
constexpr double share_of_race = 0.8;       // of the budget, where the forms' race ends
constexpr int most_stages = 3;              // groups, what they were cut into, …
constexpr int least_rounds = 9;             // of the whole program at the end
constexpr double gain_worth = 0.01;         // less is the planner's form, which is known elsewhere

// A form of a site while it is timed.
struct Contender {
  TuningForm form;
  Entrant entrant;
  std::string problem;                 // why it is none
  std::optional<double> predicted_us;  // with the starts of its kernels
};
struct Contest {
  TuningSite site;
  std::vector<Contender> contenders;
  size_t winner = 0;
  bool is_open() const { return !is_decided(entrants()); }
  std::vector<Entrant> entrants() const {
    std::vector<Entrant> list;
    for (const Contender& contender : contenders) {
      list.push_back(contender.entrant);
      list.back().out = list.back().out || !contender.problem.empty();
    }
    return list;
  }
  void judge_all() {
    std::vector<Entrant> list = entrants();
    winner = judge(list);
    for (size_t i = 0; i < list.size(); ++i) contenders[i].entrant.out = list[i].out;
  }
};

// A whole program in which each site has one of its forms.
struct Lineup {
  std::vector<size_t> forms;  // by contest; 0: as planned
  std::set<size_t> asked;     // contests that it is built for; their groups are timed together
  std::shared_ptr<const Pipeline> pipeline = nullptr;
  std::unique_ptr<Trial> trial = nullptr;
};

}  // namespace

// Reads the state of a Compiled; the device's buffers and the reference are made once.
class Tuner {
 public:
  Tuner(const Compiled::State& state, const std::vector<Tensor>& inputs, const TuneOptions& options)
      : state_(state),
        inputs_(inputs),
        options_(options),
        planning_(state.untuned()),
        model_(state.model_with_rates()) {
    path_ = tuning_path(state.options);
  }

  Json run() {
    require_tunable();
    planned_ = state_.built(planning_);
    separate_ = state_.built(state_.planning_for(FusionMode::off));
    open_trials();
    for (int stage = 0; stage < most_stages && seconds() < limit(share_of_compiling); ++stage) {
      if (!run_stage(stage)) break;
    }
    judge_program();
    return report(keep());
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double limit(double share) const { return share * options_.budget_seconds; }
  void progress(const std::string& what) const {
    if (options_.progress) {
      options_.progress(std::min(1.0, seconds() / std::max(1e-3, options_.budget_seconds)), what);
    }
  }

  void require_tunable() const {
    if (state_.options.fusion != "auto" || state_.edited()) {
      throw Error(ErrorKind::input, "tune is for fusion auto, without edited plans and kernels");
    }
    if (path_.empty())
      throw Error(ErrorKind::input, "tune has nowhere to keep what it finds", {},
                  {"--tuning FILE or INGOT_TUNING names a tuning database"});
    if (!(options_.budget_seconds > 0)) {
      throw Error(ErrorKind::input,
                  fmt::format("a budget of {} s: more than 0", options_.budget_seconds));
    }
    state_.executable();
  }

  void open_trials() {
    if (separate_->device_executable != nullptr) {
      device_trials_.emplace(*separate_->device_executable, inputs_);
      reference_ = device_trials_->add(*separate_->device_executable)->results();
    } else {
      reference_ = run_allocating(*separate_->executable, inputs_);
      outputs_ = run_allocating(*separate_->executable, inputs_);
    }
  }

  std::unique_ptr<Trial> trial_of(const Pipeline& pipeline,
                                  const std::vector<int>& parts = {}) const {
    return device_trials_ ? device_trials_->add(*pipeline.device_executable, parts)
                          : host_trial(*pipeline.executable, inputs_, outputs_);
  }

  // Of `exact`: whether results have the separate program's bits.
  std::string difference(Trial& trial) const {
    const std::vector<Tensor> results = trial.results();
    if (planning_.numerics != Numerics::exact) return "";
    for (size_t i = 0; i < results.size(); ++i) {
      const Comparison found = compare(reference_[i], results[i]);
      if (found.identical) continue;
      return fmt::format("output {} differs from the separate program's in {} elements",
                         state_.graph.output_names[i], found.mismatches);
    }
    return "";
  }

  // Groups that were not looked at yet; false where there are none.
  bool run_stage(int stage) {
    const Plan plan = make_plan(state_.graph, state_.device, planning_);
    std::vector<Contest> contests;
    for (TuningSite& site : tuning_sites(state_.graph, state_.device, planning_, plan, &seen_)) {
      Contest contest{std::move(site), {}, 0};
      for (const TuningForm& form : contest.site.forms)
        contest.contenders.push_back({form, {}, "", {}});
      contests.push_back(std::move(contest));
    }
    if (contests.empty()) return false;
    std::vector<Lineup> lineups = build_lineups(contests);
    race(contests, lineups, stage);
    for (Contest& contest : contests) settle(contest);
    std::ranges::move(contests, std::back_inserter(contests_));
    return true;
  }

  // As few programs as there are forms of the site that has most of them.
  std::vector<Lineup> build_lineups(std::vector<Contest>& contests) {
    std::vector<Lineup> lineups;
    // Two groups have to be timed together as planned, too.
    std::vector<size_t> next;
    for (const Contest& contest : contests) next.push_back(contest.site.joins ? 0 : 1);
    add_lineup(contests, {std::vector<size_t>(contests.size(), 0), {}}, &lineups);
    while (seconds() < limit(share_of_compiling)) {
      Lineup lineup{std::vector<size_t>(contests.size(), 0), {}};
      std::set<NodeId> taken;
      for (size_t c = 0; c < contests.size(); ++c) {
        const std::vector<NodeId>& nodes = contests[c].site.nodes;
        const bool is_free =
            std::ranges::none_of(nodes, [&](NodeId id) { return taken.contains(id); });
        if (next[c] >= contests[c].contenders.size() || !is_free) continue;
        taken.insert(nodes.begin(), nodes.end());
        lineup.forms[c] = next[c]++;
        lineup.asked.insert(c);
      }
      if (lineup.asked.empty()) return lineups;
      add_lineup(contests, std::move(lineup), &lineups);
    }
    for (size_t c = 0; c < contests.size(); ++c) {
      for (; next[c] < contests[c].contenders.size(); ++next[c]) {
        contests[c].contenders[next[c]].problem = "not tried: the budget is too short";
      }
    }
    return lineups;
  }

  // One program for all of them; where it cannot be built or has other bits, one for each.
  void add_lineup(std::vector<Contest>& contests, Lineup lineup, std::vector<Lineup>* lineups) {
    std::string what;
    PlanOptions planning = planning_;
    for (const size_t c : lineup.asked) {
      const TuningForm& form = contests[c].contenders[lineup.forms[c]].form;
      if (lineup.forms[c] > 0) planning.choices.push_back(form.choice);
      what = fmt::format("{}: {}", contests[c].site.name, form.what);
    }
    progress(lineup.asked.empty() ? "as planned" : "compiling " + what);
    std::string problem;
    try {
      lineup.pipeline = state_.built(planning);
      lineup.trial = trial_of(*lineup.pipeline, parts_of(contests, lineup));
      problem = difference(*lineup.trial);
      if (!problem.empty()) problem = "refused: " + problem;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      problem = in_one_line(error);
    }
    if (problem.empty()) {
      predict(lineup, &contests);
      lineups->push_back(std::move(lineup));
    } else if (lineup.asked.size() == 1) {
      const size_t c = *lineup.asked.begin();
      contests[c].contenders[lineup.forms[c]].problem = problem;
    } else {
      for (const size_t c : lineup.asked) {
        Lineup one{std::vector<size_t>(contests.size(), 0), {c}};
        one.forms[c] = lineup.forms[c];
        add_lineup(contests, std::move(one), lineups);
      }
    }
  }

  // The groups of a program that a site's nodes run as; nothing where others take part.
  std::optional<std::vector<size_t>> groups_of(const TuningSite& site, const Plan& plan) const {
    std::vector<size_t> groups;
    std::set<NodeId> covered;
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      const std::vector<NodeId> nodes = part_nodes(units_, plan.groups[g]);
      if (!std::ranges::includes(site.nodes, nodes)) continue;
      covered.insert(nodes.begin(), nodes.end());
      groups.push_back(g);
    }
    return covered.size() == site.nodes.size() ? std::optional(groups) : std::nullopt;
  }

  // Of each group, the contest that it is timed for, or a number of its own.
  std::vector<int> parts_of(const std::vector<Contest>& contests, const Lineup& lineup) const {
    const Plan& plan = lineup.pipeline->plan;
    std::vector<int> parts;
    for (size_t g = 0; g < plan.groups.size(); ++g) parts.push_back(-1 - static_cast<int>(g));
    for (const size_t c : lineup.asked) {
      const auto groups = groups_of(contests[c].site, plan);
      for (const size_t g : groups.value_or(std::vector<size_t>{})) {
        parts[g] = static_cast<int>(c);
      }
    }
    return parts;
  }

  // Whether the lineup times the contest's site by itself.
  bool is_timed(const Lineup& lineup, const std::vector<Contest>& contests, size_t c) const {
    if (lineup.asked.contains(c)) return true;
    return !contests[c].site.joins && std::ranges::none_of(lineup.asked, [&](size_t other) {
      return std::ranges::includes(contests[other].site.nodes, contests[c].site.nodes);
    });
  }

  void predict(const Lineup& lineup, std::vector<Contest>* contests) const {
    const Plan& plan = lineup.pipeline->plan;
    const Bindings sizes = state_.report_sizes();
    for (size_t c = 0; c < contests->size(); ++c) {
      Contest& contest = (*contests)[c];
      std::optional<double>& us = contest.contenders[lineup.forms[c]].predicted_us;
      const auto groups = groups_of(contest.site, plan);
      // The model knows of no schedule but the planner's.
      const TuningForm& form = contest.contenders[lineup.forms[c]].form;
      if (us || !groups || !form.choice.schedule.empty()) continue;
      us = 0;
      for (const size_t g : *groups) *us += estimate(plan.groups[g], model_, sizes).us;
    }
  }

  bool is_open(const Lineup& lineup, const std::vector<Contest>& contests) const {
    for (size_t c = 0; c < contests.size(); ++c) {
      const bool runs = !contests[c].contenders[lineup.forms[c]].entrant.out;
      if (contests[c].is_open() && runs && is_timed(lineup, contests, c)) return true;
    }
    return false;
  }

  void race(std::vector<Contest>& contests, std::vector<Lineup>& lineups, int stage) {
    constexpr size_t rounds_to_judge = 3;
    const double end = std::max(limit(share_of_race), seconds() + limit(0.1));
    for (size_t round = 0;; ++round) {
      size_t running = 0;
      for (size_t i = 0; i < lineups.size(); ++i) {
        // Who follows whom changes from round to round.
        Lineup& lineup = lineups[(i + round) % lineups.size()];
        if (!is_open(lineup, contests)) continue;
        ++running;
        time_lineup(lineup, contests);
      }
      for (Contest& contest : contests) {
        if (round % rounds_to_judge == 0) contest.judge_all();
      }
      std::string who;
      for (const Contest& contest : contests) {
        if (who.empty() && contest.is_open()) who = contest.site.name;
      }
      progress(fmt::format("stage {}, round {}: {} in turns, {}", stage + 1, round + 1,
                           counted(std::ssize(lineups), "program"), who));
      if (running == 0 || seconds() > end) break;
    }
    for (Contest& contest : contests) contest.judge_all();
  }

  void time_lineup(Lineup& lineup, std::vector<Contest>& contests) const {
    for (const Trial::Times& times : turn(*lineup.trial)) {
      for (size_t c = 0; c < contests.size(); ++c) {
        Contender& contender = contests[c].contenders[lineup.forms[c]];
        const auto groups = groups_of(contests[c].site, lineup.pipeline->plan);
        if (!groups || contender.entrant.out || !is_timed(lineup, contests, c)) continue;
        double us = 0;
        for (const size_t g : *groups) us += times.group_us[g];
        contender.entrant.us.push_back(us);
      }
    }
  }

  // Short programs run several times in a row, as their callers run them; the first time finds the
  // caches as another program left them, and does not count.
  std::vector<Trial::Times> turn(Trial& trial) const {
    constexpr double short_us = 500;
    constexpr size_t most_runs = 6;
    std::vector<Trial::Times> times = {trial.run()};
    if (state_.device.gpu || times[0].us > short_us) return times;
    double us = times[0].us;
    times.clear();
    while (times.empty() || (us < short_us && times.size() < most_runs)) {
      times.push_back(trial.run());
      us += times.back().us;
    }
    return times;
  }

  // The planner's form stays unless another one is faster with confidence and by enough.
  void settle(Contest& contest) {
    const Contender& best = contest.contenders[contest.winner];
    const MedianInterval planned = median_interval(contest.contenders[0].entrant.us);
    const MedianInterval fastest = median_interval(best.entrant.us);
    const bool certain = contest.contenders[0].entrant.out || fastest.high < planned.low;
    const bool worth = fastest.median < (1 - gain_worth) * planned.median;
    if (contest.winner > 0 && !(certain && worth)) contest.winner = 0;
    if (contest.winner == 0) return;
    planning_.choices.push_back(contest.contenders[contest.winner].form.choice);
  }

  // The program of all winners against the planner's and the separate one: together forms may be
  // worse than each by itself.
  void judge_program() {
    progress("the whole program");
    tuned_ = state_.built(planning_);
    std::vector<std::pair<const Pipeline*, Entrant*>> sides = {{planned_.get(), &planned_times_},
                                                               {tuned_.get(), &tuned_times_},
                                                               {separate_.get(), &separate_times_}};
    std::vector<std::unique_ptr<Trial>> trials;
    for (const auto& [pipeline, entrant] : sides) trials.push_back(trial_of(*pipeline));
    std::string problem = difference(*trials[1]);
    for (const std::unique_ptr<Trial>& trial : trials) trial->run();
    for (int round = 0; round < least_rounds || seconds() < limit(1); ++round) {
      for (size_t i = 0; i < sides.size(); ++i) {
        const size_t next = (i + static_cast<size_t>(round)) % sides.size();
        for (const Trial::Times& times : turn(*trials[next])) {
          sides[next].second->us.push_back(times.us);
        }
      }
      progress("the whole program, tuned and not, in turns");
      std::vector<Entrant> all = {planned_times_, tuned_times_, separate_times_};
      if (round >= least_rounds && is_decided(all)) break;
    }
    const MedianInterval planned = median_interval(planned_times_.us);
    const MedianInterval tuned = median_interval(tuned_times_.us);
    const MedianInterval separate = median_interval(separate_times_.us);
    if (problem.empty() && tuned.low > planned.high) {
      problem = "together the faster forms are slower than the planned ones";
    }
    if (!problem.empty()) {
      for (Contest& contest : contests_) contest.winner = 0;
      verdict_ = problem + ": all groups stay as planned";
    }
    const MedianInterval& best = problem.empty() ? tuned : planned;
    if (separate.high < best.low && separate.median < (1 - gain_worth) * best.median) {
      take_apart();
      verdict_ = "the separate program is faster than every other one: ops run one by one";
    }
  }

  void take_apart() {
    for (Contest& contest : contests_) {
      const auto apart = std::ranges::find_if(contest.contenders, [](const Contender& contender) {
        return contender.form.what == op_by_op && contender.problem.empty();
      });
      contest.winner = apart == contest.contenders.end()
                           ? 0
                           : static_cast<size_t>(apart - contest.contenders.begin());
    }
  }

  // What the database gets. A form that was not timed enough says nothing.
  std::vector<TuningEntry> keep() const {
    std::vector<TuningEntry> entries;
    const TuningTarget target{tuning_device(state_.device, state_.options.threads),
                              std::string(numerics_text(planning_.numerics))};
    const Json environment = environment_of(state_.options);
    for (const Contest& contest : contests_) {
      const Contender& best = contest.contenders[contest.winner];
      const MedianInterval found = median_interval(best.entrant.us);
      if (!std::isfinite(found.high)) continue;
      if (contest.site.joins && contest.winner == 0) continue;
      TuningEntry entry;
      entry.key = tuning_key(target, group_key(state_.graph, units_, contest.site.nodes,
                                               contest.site.outputs, planning_.sizes));
      entry.choice = best.form.text;
      entry.us = found.median;
      entry.interval = found.half_width();
      for (const Contender& other : contest.contenders) {
        const bool apart =
            contest.site.joins ? other.form.text == "planned" : other.form.what == op_by_op;
        const bool together = other.form.text == (contest.site.joins ? "together" : "planned");
        if (other.entrant.us.empty()) continue;
        const double us = median_interval(other.entrant.us).median;
        if (apart) entry.apart_us = us;
        if (together) entry.together_us = us;
      }
      entry.date = environment["date"].get<std::string>().substr(0, 10);
      const Json& compilers = environment["compilers"];
      const Json& compiler = state_.device.gpu ? compilers["nvrtc"] : compilers["c++"];
      entry.compiler = in_one_word(compiler.is_null() ? "unknown" : compiler.get<std::string>());
      entry.name = contest.site.name;
      entries.push_back(std::move(entry));
    }
    if (!entries.empty()) save_tuning(path_, entries);
    return entries;
  }

  static std::string in_one_word(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == ' ' || c == '='; }, '-');
    return text;
  }

  static Json interval_json(const Entrant& entrant) {
    const MedianInterval found = median_interval(entrant.us);
    const bool bounded = std::isfinite(found.high);
    return {{"median", entrant.us.empty() ? Json(nullptr) : Json(found.median)},
            {"low", bounded ? Json(found.low) : Json(nullptr)},
            {"high", bounded ? Json(found.high) : Json(nullptr)},
            {"samples", entrant.us.size()}};
  }

  // What the model alone would have taken, and how much longer it takes than the fastest, as a
  // share of that.
  static Json model_json(const Contest& contest) {
    const Contender* model = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const Contender& contender : contest.contenders) {
      if (contender.entrant.us.empty()) continue;
      least = std::min(least, median_interval(contender.entrant.us).median);
      if (!contender.predicted_us) continue;
      if (model == nullptr || contender.predicted_us < model->predicted_us) model = &contender;
    }
    if (model == nullptr) return nullptr;
    return {{"form", model->form.what},
            {"over_fastest", median_interval(model->entrant.us).median / least - 1}};
  }

  Json report(const std::vector<TuningEntry>& entries) const {
    Json groups = Json::array();
    for (const Contest& contest : contests_) {
      Json forms = Json::array();
      for (size_t i = 0; i < contest.contenders.size(); ++i) {
        const Contender& contender = contest.contenders[i];
        forms.push_back(
            {{"form", contender.form.what},
             {"choice", contender.form.text},
             {"kernels", contender.form.kernels},
             {"predicted_us",
              contender.predicted_us ? Json(*contender.predicted_us) : Json(nullptr)},
             {"us", interval_json(contender.entrant)},
             {"state", !contender.problem.empty() ? "refused"
                       : i == contest.winner      ? "chosen"
                       : contender.entrant.out    ? "slower"
                                                  : "no faster"},
             {"problem", contender.problem.empty() ? Json(nullptr) : Json(contender.problem)}});
      }
      groups.push_back(
          {{"group", contest.site.name}, {"forms", forms}, {"best_by_model", model_json(contest)}});
    }
    const Bindings sizes = state_.report_sizes();
    return {{"graph", state_.graph.name},
            {"device", state_.device.name},
            {"numerics", numerics_text(planning_.numerics)},
            {"dims", std::map<std::string, int64_t>(sizes.begin(), sizes.end())},
            {"environment", environment_of(state_.options)},
            {"database", path_},
            {"entries", entries.size()},
            {"budget_seconds", options_.budget_seconds},
            {"seconds", seconds()},
            {"groups", groups},
            {"program",
             {{"separate_us", interval_json(separate_times_)},
              {"planned_us", interval_json(planned_times_)},
              {"tuned_us", interval_json(tuned_times_)}}},
            {"verdict", verdict_.empty() ? Json(nullptr) : Json(verdict_)}};
  }

  const Compiled::State& state_;
  const std::vector<Tensor>& inputs_;
  const TuneOptions& options_;
  PlanOptions planning_;     // with what was chosen so far
  const DeviceModel model_;  // what is predicted follows the device's own rates
  const UnitGraph units_ = make_units(state_.graph);
  const Clock::time_point start_ = Clock::now();
  std::string path_, verdict_;
  std::shared_ptr<const Pipeline> planned_, separate_, tuned_;
  std::optional<DeviceTrials> device_trials_;
  std::vector<Tensor> reference_, outputs_;
  std::set<std::vector<NodeId>> seen_;
  std::vector<Contest> contests_;
  Entrant planned_times_, tuned_times_, separate_times_;
};

std::string Compiled::tune_json(const std::vector<Tensor>& inputs,
                                const TuneOptions& options) const {
  const DefaultFloatEnvironment defaults;
  return Tuner(state(), inputs, options).run().dump(2);
}

std::string Compiled::tune_text(const std::string& json) {
  const Json report = Json::parse(json, nullptr, false);
  if (!report.is_object() || !report.contains("database")) {
    throw Error(ErrorKind::input, "tune_text: this is no report of tune_json");
  }
  return ingot::tune_text(report);
}

}  // namespace ingot
