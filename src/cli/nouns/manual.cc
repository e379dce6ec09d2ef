// horae manual page, configuration (hidden): prints the documents that are generated from the program, for `make docs`.

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "app/config.h"
#include "base/version.h"
#include "cli/command_tree.h"
#include "cli/commands.h"

namespace horae::cli {
namespace {

// Text as roff: escapes backslashes and hyphens, and lines that would be read as requests.
std::string roff(std::string_view text) {
  std::string result;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    at_start = c == '\n';
  }
  return result;
}

std::string option_title(const CLI::Option& option) {
  std::string title = "\\fB\\-\\-" + roff(option.get_lnames().front()) + "\\fR";
  if (option.get_items_expected_max() > 0) title += " \\fI" + roff(option.get_type_name()) + "\\fR";
  return title;
}

std::string synopsis(const CLI::App& command, const std::string& path) {
  std::string line = "\\fB" + roff(path) + "\\fR";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_lnames().empty()) continue;
    const std::string name = roff(option->get_name());
    const std::string_view dots = option->get_items_expected_max() > 1 ? " ..." : "";
    line += option->get_required() ? fmt::format(" \\fI{}\\fR{}", name, dots) : fmt::format(" [\\fI{}\\fR]", name);
  }
  return line + " [\\fIOPTIONS\\fR]";
}

// Options that many commands share have a section of their own.
bool is_common(const CLI::Option& option) {
  for (const std::string_view name : {"help", "node", "json", "timeout", "token", "ca"}) {
    if (option.check_lname(std::string(name))) return true;
  }
  return false;
}

std::string options_text(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (is_common(*option)) continue;
    const bool is_word = option->get_lnames().empty();
    text += fmt::format(".TP\n{}\n{}\n", is_word ? "\\fI" + roff(option->get_name()) + "\\fR" : option_title(*option),
                        roff(option->get_description()));
  }
  return text;
}

std::string examples_text(const CLI::App& command) {
  const std::string footer = command.get_footer();
  if (footer.empty()) return "";
  const std::size_t line = footer.find('\n');
  return fmt::format(".PP\n{}\n.PP\n.nf\n{}\n.fi\n", roff(footer.substr(0, line)), roff(footer.substr(line + 1)));
}

std::string command_text(const CLI::App& command, const std::string& path) {
  const auto verbs = visible_commands(command);
  if (verbs.empty()) {
    return fmt::format(".SS {}\n{}\n.br\n{}.\n{}{}", roff(path), synopsis(command, path),
                       roff(command.get_description()), options_text(command), examples_text(command));
  }
  std::string text;
  for (const CLI::App* verb : verbs) text += command_text(*verb, path + " " + verb->get_name());
  return text;
}

constexpr std::string_view kBeginning = R"(.SH NAME
horae \- a persistent, distributed task scheduler
.SH SYNOPSIS
\fBhorae\fR \fICOMMAND\fR [\fIOPTIONS\fR]
.SH DESCRIPTION
Horae runs work at its time, in order of importance, on a live worker, and never loses it.
\fBhorae serve\fR runs a node; \fBtask\fR, \fBqueue\fR, \fBscheduler\fR, \fBnode\fR and \fBtoken\fR call a node over HTTP;
\fBmigrate\fR and \fBdoctor\fR maintain its store.
.PP
Durations are written like 50ms, 10s or 1h30m, times like 2030\-01\-01T06:00:00Z.
.SH COMMANDS
)";

constexpr std::string_view kEnd = R"(.SH COMMON OPTIONS
.TP
\fB\-\-node\fR \fIURL\fR
Node to call. Default: \fBHORAE_NODE\fR, else http://127.0.0.1:3369.
.TP
\fB\-\-timeout\fR \fIDURATION\fR
Timeout of a call. Default: 30s.
.TP
\fB\-\-json\fR
Print the node's JSON unchanged, for programs. A refusal is a problem document (RFC 9457).
.TP
\fB\-\-token\fR \fISECRET\fR
Secret of a token, for a node that requires authentication. Default: \fBHORAE_TOKEN\fR, which is safer, since other users
of this machine can see command lines.
.TP
\fB\-\-ca\fR \fIFILE\fR
CA certificates (PEM) to trust for an https:// node. Default: the file that \fBHORAE_CA\fR names, else the system's.
.TP
\fB\-\-help\fR
Show the help of a command.
.SH EXIT STATUS
.TP
\fB0\fR
Done.
.TP
\fB1\fR
The request was refused in the present state (the task does not exist or has ended, the token lacks the permission), or
it failed.
.TP
\fB2\fR
The command line is invalid, or the node refuses a value as invalid (a priority of 300; over HTTP this is 400, 413 or
422): nothing was done, and the same command will not succeed later.
.TP
\fB3\fR
The task that was waited for did not complete: it was aborted or cancelled, or the time limit was reached.
.TP
\fB4\fR
The node or its store is unavailable, or a limit is reached for now: the same command may succeed later.
.SH ENVIRONMENT
.TP
\fBHORAE_NODE\fR
The node that commands call.
.TP
\fBHORAE_TOKEN\fR
The secret of the token that commands send to it.
.TP
\fBHORAE_CA\fR
CA certificates to trust for an https:// node.
.TP
\fBHORAE_CONFIG\fR
The configuration file of \fBserve\fR, \fBmigrate\fR and \fBdoctor\fR.
.TP
\fBHORAE_\fR...
Each setting: \fBHORAE_SLOTS_COUNT\fR for \fBslots.count\fR.
.TP
\fBNO_COLOR\fR
If set, disables colours.
.SH FILES
.TP
\fIhorae.toml\fR
The configuration, if no other file is named.
.TP
\fIhorae\-data\fR
The data of a node on its embedded store.
)";

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::string text = fmt::format(".TH HORAE 1 \"\" \"horae {}\" \"User Commands\"\n", version());
  text += kBeginning;
  for (const CLI::App* command : visible_commands(app)) text += command_text(*command, "horae " + command->get_name());
  return text + std::string(kEnd);
}

void add_manual_commands(CLI::App& app, Context& context) {
  CLI::App& noun = add_noun(app, "manual", "Print generated documents");
  noun.group("");
  add_verb(noun, "page", "Print the man page", "").callback([&app, &context] {
    context.action = [&app, &context] {
      context.console.out << manual_page(app);
      return kDone;
    };
  });
  add_verb(noun, "configuration", "Print the reference of the settings", "").callback([&context] {
    context.action = [&context] {
      context.console.out << configuration_document();
      return kDone;
    };
  });
}

}  // namespace horae::cli
