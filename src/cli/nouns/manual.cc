// The man page, made from the tree of commands, and the hidden command that prints what `make docs` writes.

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "app/config.h"
#include "base/version.h"
#include "cli/commands.h"

namespace horae::cli {
namespace {

// Text as roff: backslashes and hyphens are meant, and no line is a request.
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

bool is_hidden(const CLI::App& app) { return app.get_group().empty(); }

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!is_hidden(*command)) all.push_back(command);
  }
  return all;
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

// The options that a command shares with others are told once.
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
  const auto verbs = commands_of(command);
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
Horae makes work happen at its time, in order of importance, on a worker that is alive, and never loses it.
\fBhorae serve\fR runs a node; \fBtask\fR, \fBqueue\fR, \fBscheduler\fR and \fBtoken\fR ask a node over HTTP;
\fBmigrate\fR and \fBdoctor\fR look after its store.
.PP
Durations are written like 50ms, 10s or 1h30m, times like 2030\-01\-01T06:00:00Z.
.SH COMMANDS
)";

constexpr std::string_view kEnd = R"(.SH COMMON OPTIONS
.TP
\fB\-\-node\fR \fIURL\fR
The node to ask. By default the one that \fBHORAE_NODE\fR names, else http://127.0.0.1:3369.
.TP
\fB\-\-timeout\fR \fIDURATION\fR
How long to wait for an answer, 30s by default.
.TP
\fB\-\-json\fR
Print the node's answer as it is, for programs; also a refusal, which is a problem document (RFC 9457).
.TP
\fB\-\-token\fR \fISECRET\fR
The secret of a token, for a node that wants to know who calls. By default what \fBHORAE_TOKEN\fR says, which is better:
other users of this machine see command lines.
.TP
\fB\-\-ca\fR \fIFILE\fR
Certificates (PEM) of those who vouch for an https:// node. By default the file that \fBHORAE_CA\fR names, else those that
the system trusts.
.TP
\fB\-\-help\fR
Explain a command.
.SH EXIT STATUS
.TP
\fB0\fR
It is done.
.TP
\fB1\fR
It was refused as things are (there is no such task, it had ended, the token is not for this), or it failed.
.TP
\fB2\fR
The command line cannot be read, or the node finds that what it says cannot be meant (a priority of 300; over HTTP this
is 400, 413 or 422): nothing was done, and the same command will not succeed later.
.TP
\fB3\fR
The task that was waited for did not complete: it was aborted or cancelled, or the time was over.
.TP
\fB4\fR
The node or its store is away, or a limit is reached for now: the same command may succeed later.
.SH ENVIRONMENT
.TP
\fBHORAE_NODE\fR
The node that commands ask.
.TP
\fBHORAE_TOKEN\fR
The secret of the token that commands show to it.
.TP
\fBHORAE_CA\fR
Certificates of those who vouch for an https:// node.
.TP
\fBHORAE_CONFIG\fR
The configuration file of \fBserve\fR, \fBmigrate\fR and \fBdoctor\fR.
.TP
\fBHORAE_\fR...
Each setting: \fBHORAE_SLOTS_COUNT\fR for \fBslots.count\fR.
.TP
\fBNO_COLOR\fR
If it is set, nothing is coloured.
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
  for (const CLI::App* command : commands_of(app)) text += command_text(*command, "horae " + command->get_name());
  return text + std::string(kEnd);
}

void add_manual_command(CLI::App& app, Context& context) {
  CLI::App* noun = app.add_subcommand("manual", "Print generated documents")->group("");
  noun->require_subcommand(1);
  noun->add_subcommand("page", "docs/reference/horae.1")->callback([&app, &context] {
    context.chosen = [&app, &context] {
      context.console.out << manual_page(app);
      return kDone;
    };
  });
  noun->add_subcommand("configuration", "docs/reference/configuration.md")->callback([&context] {
    context.chosen = [&context] {
      context.console.out << configuration_document();
      return kDone;
    };
  });
}

}  // namespace horae::cli
