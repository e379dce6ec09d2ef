#include "tests/sim/mutants.h"

#include <algorithm>
#include <array>

#include "base/mutant.h"

namespace horae::sim {
namespace {

constexpr auto kSafety = Mutant::Harm::kSafety;
constexpr auto kLiveness = Mutant::Harm::kLiveness;

// The number in brackets is that of the failure in the project's list of failures.
constexpr std::array kMutants = std::to_array<Mutant>({
    // Verdicts and leases
    {"settle_any_attempt", kSafety, "[1] whatever a stale worker says about a running task is accepted"},
    {"complete_over_cancel", kSafety, "[8] a late complete overwrites a cancel"},
    {"cancel_spares_the_running", kSafety, "[8] a running task does not notice its cancel"},
    {"two_claims_of_one_task", kSafety, "[1] a claim does not mark what it gives"},
    {"paused_queues_give", kSafety, "a claim does not look whether the queue is paused"},
    {"expire_without_compare", kSafety, "[3] the rescuer overwrites a task that was finished meanwhile"},
    {"expire_by_age", kSafety, "[4] leases end by the age of the attempt, beats or not"},
    {"outage_is_the_workers_fault", kSafety, "leases expire while nobody could beat"},
    {"extension_is_lost", kSafety, "after an outage the stamp is set, but no lease is extended"},
    {"timeout_after_yield", kSafety, "a yielded task gets a TaskTimeout"},
    {"late_result_is_lost", kSafety, "[10] a refused result leaves no trace"},
    {"poison_never_ends", kLiveness, "[9] lost leases do not count against max_attempts"},
    {"aborts_cost_no_try", kLiveness, "[9] failures do not count against max_attempts"},
    {"monitor_gives_up", kLiveness, "[5] a monitor that cannot look once does not look again"},
    // Time and order
    {"promote_before_due", kSafety, "[42] tasks start a second before they are due"},
    {"uncapped_sleep", kLiveness, "[40] a promoter sleeps until the next task that it knows is due"},
    {"no_ageing", kLiveness, "[12] the urgent starve the rest"},
    {"turns_without_a_pause", kSafety, "[40] a recurring task or a retry starts again at once"},
    {"recurrence_lost_on_crash", kSafety, "completing and scheduling the next turn are two steps"},
    // Submits, counts, retention
    {"acknowledged_before_stored", kSafety, "[25] a client is told yes before the store has said so"},
    {"new_id_for_a_repetition", kSafety, "[25] an unknown commit is taken for a failure and submitted under a new id"},
    {"key_is_forgotten", kSafety, "[14] a submit under a key is stored again when it is repeated"},
    {"counts_drift", kSafety, "a cancel does not change the counts of its queue"},
    {"purge_ignores_retention", kSafety, "finished tasks are gone before their time"},
    {"purge_takes_the_unfinished", kSafety, "tasks that waited as long as the retention are gone"},
    // Waking and letting go
    {"lost_wake_up", kLiveness, "nobody tells the waiting workers that there is work"},
    {"never_polls", kLiveness, "[27] the claimer waits for wake-ups that may never come"},
    {"lost_answer_is_forgotten", kLiveness, "[25] a claim without an answer is taken for one that got nothing"},
    {"gone_workers_keep_tasks", kLiveness, "what a worker that hung up was given is not released"},
    {"workers_token_is_released", kSafety, "[25] what a worker got at another node by its token is taken from it"},
    {"token_serves_twice", kSafety, "[25] a claim that is repeated while the first is under way leases a second batch"},
    {"heartbeats_stop_in_drain", kLiveness, "[11] a worker that leaves stops beating before its last task has ended"},
    // The node's own slots
    {"slot_booked_twice", kSafety, "a chore starts in a slot that is taken"},
    {"chores_are_not_beaten", kLiveness, "[6] tasks that wait for a slot lose their leases"},
    {"drained_nodes_keep_chores", kLiveness, "[11] a node that stops does not release what has not started"},
    {"elevator_drops_a_chore", kSafety, "chores of the highest level are lost when the others are lifted"},
});

std::uint64_t planted = 0;
constexpr std::uint64_t kNeedsACrash = mutant_number("recurrence_lost_on_crash");

}  // namespace

std::span<const Mutant> mutants() { return kMutants; }

bool plant(std::string_view name) {
  planted = name.empty() ? 0 : mutant_number(name);
  active_mutant = planted;
  return name.empty() || std::ranges::any_of(kMutants, [&](const Mutant& each) { return each.name == name; });
}

void arm_crash_mutant(bool crash_follows) {
  if (planted == kNeedsACrash) active_mutant = crash_follows ? planted : 0;
}

}  // namespace horae::sim
