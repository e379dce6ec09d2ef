#include "app/agent_settings.h"

#include "app/setting_kinds.h"
#include "model/task.h"
#include "store/lease.h"

namespace horae {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<Setting> worker_settings() {
  return {
      text_setting(
          {.key = "agent.data",
           .help = "Folder for the agent's journal and the files of its runs. One agent has it at a time: a second "
                   "one waits until all processes of the first have ended."},
          "a path", check_folder, [](Config& c) -> std::string& { return c.agent.data; }),
      list_setting({.key = "agent.nodes",
                    .help = "Nodes that the agent works for. It uses one of them; if that does not answer, the next.",
                    .seeds = "master/slave: MASTER_HOST, MASTER_PORT"},
                   "1 to 64 of the form http://127.0.0.1:3369 or https://node.example:3369", {1, 64}, check_any,
                   [](Config& c) -> std::vector<std::string>& { return c.agent.nodes; }),
      text_setting({.key = "agent.token_file",
                    .help = "File with the secret of the agent's token (horae token create --role work)."},
                   "a file, or nothing", check_any, [](Config& c) -> std::string& { return c.agent.token_file; }),
      text_setting({.key = "agent.ca", .help = "CA certificates to trust for https:// nodes; by default the system's."},
                   "a file in PEM, or nothing", check_any, [](Config& c) -> std::string& { return c.agent.ca_file; }),
      list_setting({.key = "agent.queues", .help = "Queues whose tasks the agent runs. It does not start without one."},
                   "up to 16 names", {0, kMaxQueuesOfAClaim}, check_queue_name,
                   [](Config& c) -> std::vector<std::string>& { return c.agent.worker.queues; }),
      number_setting({.key = "agent.slots",
                      .help = "Tasks that the agent runs at the same time.",
                      .seeds = "TMS: CONCURRENT_TASKS"},
                     {1, 1000}, [](Config& c) -> int& { return c.agent.worker.slots; }),
      duration_setting(
          {.key = "agent.lease",
           .help = "Time without a heartbeat after which a task runs elsewhere. The agent beats at a third "
                   "of it.",
           .seeds = "TMS: WORKER_TIMEOUT_SEC"},
          {seconds(1), hours(24)}, {[](Config& c) -> Duration& { return c.agent.worker.lease; }}),
      duration_setting({.key = "agent.grace",
                        .help = "Time between SIGTERM and SIGKILL for programs, unless the task says another. When the "
                                "agent stops, runs have a quarter of it to end by themselves before."},
                       {milliseconds(100), hours(1)},
                       {[](Config& c) -> Duration& { return c.agent.worker.grace; },
                        [](Config& c) -> Duration& { return c.agent.exec.grace; }}),
      bool_setting(
          {.key = "agent.stop_on_lost_contact",
           .help = "Whether the agent ends its programs and exits with 4 if no node answers for "
                   "agent.contact_timeout. Otherwise its programs run on, and it reports when a node is back."},
          [](Config& c) -> bool& { return c.agent.stops_on_lost_contact; }),
      duration_setting({.key = "agent.contact_timeout",
                        .help = "See agent.stop_on_lost_contact.",
                        .seeds = "TMS: WORKER_TIMEOUT_SEC"},
                       {seconds(1), hours(24)}, {[](Config& c) -> Duration& { return c.agent.contact_timeout; }}),
  };
}

std::vector<Setting> exec_settings() {
  return {
      list_setting({.key = "agent.programs",
                    .help = "Programs that tasks may run with any arguments. Only for nodes that require tokens "
                            "(http.require_token)."},
                   "up to 256 absolute paths, or names in PATH", {0, 256}, check_any,
                   [](Config& c) -> std::vector<std::string>& { return c.agent.exec.programs; }),
      list_setting({.key = "agent.commands",
                    .help = "Commands that tasks may run exactly as they are here: a program and its arguments, with "
                            "blanks between them."},
                   "up to 256 commands", {0, 256}, check_any,
                   [](Config& c) -> std::vector<std::string>& { return c.agent.exec.commands; }),
      text_setting({.key = "agent.user",
                    .help = "User as which programs run, if the agent runs as root; then it is required. The folder "
                            "agent.data must be reachable for that user."},
                   "a name, or nothing", check_any, [](Config& c) -> std::string& { return c.agent.exec.user; }),
      list_setting({.key = "agent.environment",
                    .help = "Variables of the agent that programs get, besides PATH, HOME, LANG and TZ."},
                   "up to 256 names", {0, 256}, check_any,
                   [](Config& c) -> std::vector<std::string>& { return c.agent.exec.environment; }),
      text_setting(
          {.key = "agent.secrets",
           .help = "Folder with a file for each secret that tasks may name. Each task of the agent's queues may "
                   "have each of them."},
          "a folder, or nothing", check_any, [](Config& c) -> std::string& { return c.agent.exec.secrets; }),
  };
}

}  // namespace

std::vector<Setting> agent_settings() {
  std::vector<Setting> all = worker_settings();
  for (Setting& setting : exec_settings()) all.push_back(std::move(setting));
  return all;
}

}  // namespace horae
