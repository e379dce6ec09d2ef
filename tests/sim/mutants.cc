#include "tests/sim/mutants.h"

#include <algorithm>
#include <array>

#include "base/mutant.h"

namespace horae::sim {
namespace {

constexpr auto kSafety = Mutant::Harm::kSafety;
constexpr auto kLiveness = Mutant::Harm::kLiveness;

constexpr std::array kMutants = std::to_array<Mutant>({
    // Verdicts and leases
    {"settle_any_attempt", kSafety, "every settlement of a stale worker for a running task is accepted"},
    {"complete_over_cancel", kSafety, "a late complete overwrites a cancel"},
    {"cancel_spares_the_running", kSafety, "the worker of a running task is not informed of its cancel"},
    {"two_claims_of_one_task", kSafety, "a claim does not mark the tasks that it hands out"},
    {"paused_queues_give", kSafety, "a claim does not check whether the queue is paused"},
    {"expire_without_compare", kSafety, "the monitor overwrites a task that has ended meanwhile"},
    {"expire_by_age", kSafety, "leases expire by the age of the attempt in spite of heartbeats"},
    {"outage_is_the_workers_fault", kSafety, "leases expire during an outage, when no heartbeat could arrive"},
    {"short_leases_pay_for_outages", kSafety, "outages shorter than one limit for all leases expire the shorter ones"},
    {"extension_is_lost", kSafety, "after an outage the stamp is set, but no lease is extended"},
    {"timeout_after_yield", kSafety, "a yielded task gets a TaskTimeout"},
    {"late_result_is_lost", kSafety, "a refused result leaves no trace"},
    {"poison_never_ends", kLiveness, "expired leases do not count against max_attempts"},
    {"aborts_cost_no_try", kLiveness, "aborts do not count against max_attempts"},
    {"monitor_gives_up", kLiveness, "a monitor stops after one failed pass"},
    // Time and order
    {"promote_before_due", kSafety, "tasks start a second before they are due"},
    {"uncapped_sleep", kLiveness, "a promoter sleeps until the next task that it has seen, however long that is"},
    {"no_ageing", kLiveness, "urgent tasks starve the rest"},
    {"turns_without_a_pause", kSafety, "a recurring task or a retry starts again without its delay"},
    {"recurrence_lost_on_crash", kSafety, "completing and scheduling the next turn are two steps"},
    // Submits, counts, retention
    {"acknowledged_before_stored", kSafety, "a submit is acknowledged although the store did not confirm it"},
    {"new_id_for_a_repetition", kSafety, "a submit with an unknown outcome is repeated under a new id"},
    {"key_is_forgotten", kSafety, "a repeated submit under a key is stored again"},
    {"counts_drift", kSafety, "a cancel does not change the counts of its queue"},
    {"purge_ignores_retention", kSafety, "finished tasks are purged before their retention is over"},
    {"purge_takes_the_unfinished", kSafety, "unfinished tasks older than the retention are purged"},
    // Wake-ups and releases
    {"lost_wake_up", kLiveness, "waiting workers are not woken for new tasks"},
    {"never_polls", kLiveness, "the claimer relies on wake-ups that may be lost"},
    {"lost_answer_is_forgotten", kLiveness, "a claim whose response was lost counts as empty"},
    {"gone_workers_keep_tasks", kLiveness, "tasks claimed for a worker that has disconnected are not released"},
    {"workers_token_is_released", kSafety, "tasks that a worker got at another node by its token are released"},
    {"token_serves_twice", kSafety, "a claim that is repeated while the first is in progress leases a second batch"},
    {"heartbeats_stop_in_drain", kLiveness, "a draining worker stops its heartbeats before its last task has ended"},
    // The node's own slots
    {"slot_booked_twice", kSafety, "a chore starts in an occupied slot"},
    {"chores_are_not_beaten", kLiveness, "the leases of tasks that wait for a slot expire"},
    {"released_chore_starts", kSafety, "a chore that is given back to other nodes starts all the same"},
    {"drained_nodes_keep_chores", kLiveness, "a draining node does not release tasks that have not started"},
    {"elevator_drops_a_chore", kSafety, "chores of the highest level are lost when lower levels are lifted"},
    // The delay queue: offsets
    {"offset_before_insert", kSafety, "offsets are committed when a record is taken", true},
    {"offset_skips_a_gap", kSafety, "an offset is committed although an earlier record is not done", true},
    {"old_assignment_stores", kSafety, "a record of an old assignment moves the offset of the present one", true},
    {"offset_before_late_report", kSafety, "the offset of a late record is committed before its publish", true},
    {"starts_at_latest", kSafety, "a new group begins at the end of its partitions", true},
    {"revoked_records_are_kept", kSafety, "records of a partition that was lost are stored later", true},
    {"bad_record_blocks", kLiveness, "the offset of a record that is no message never passes", true},
    {"intake_ignores_backlog", kLiveness, "records are taken in while overdue messages wait", true},
    // Ids
    {"late_ignores_waiting_id", kSafety, "a late record is published although its id waits or is ready", true},
    {"rearmed_id_is_swallowed", kSafety, "an id that is sent again on receipt is taken for a repetition", true},
    {"late_repeat_in_batch_fires", kSafety, "of two late records with one id both are published", true},
    {"cancel_of_ready_accepted", kSafety, "a message is cancelled that a node is about to publish", true},
    {"move_keeps_old_due", kSafety, "a moved message is published at its old deadline", true},
    // Firing
    {"removed_before_report", kSafety, "a row is removed before its publish is acknowledged", true},
    {"failed_report_is_success", kSafety, "a failed publish counts as done", true},
    {"remove_without_compare", kSafety, "a row is removed that another node has readied since", true},
    {"fires_after_hold", kSafety, "a node that was stopped publishes what was taken over", true},
    {"fires_early_by_receipt_clock", kSafety, "the trip of the store's answer is taken off the waiting time", true},
    {"lost_turn_forgotten", kSafety, "messages of a turn whose answer was lost are left to the takeover", true},
    {"stop_keeps_undue", kSafety, "a node that stops keeps what is not due", true},
    // Takeover
    {"never_recovers", kLiveness, "messages of a node that has failed are stuck", true},
    {"reset_without_compare", kSafety, "a message is taken over from a node that has just readied it", true},
    {"stuck_takes_recent", kSafety, "messages are taken over before the hold time is over", true},
    {"hold_from_readying_only", kSafety, "the hold time counts before the message is due", true},
    {"outage_is_the_nodes_fault", kSafety, "after an outage of the store all that is held is taken over", true},
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
