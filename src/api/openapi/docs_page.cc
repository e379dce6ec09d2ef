#include "api/openapi/docs_page.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace horae {
namespace {

// What is between <name> and </name>, of which the page has one.
std::string_view content_of(std::string_view page, std::string_view name) {
  const std::string begin = fmt::format("<{}>", name);
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(fmt::format("</{}>", name));
  HORAE_CHECK(from != std::string_view::npos && to != std::string_view::npos, "the page has its parts");
  return page.substr(from + begin.size(), to - from - begin.size());
}

// "'sha256-...'"
std::string source_hash(std::string_view text) {
  constexpr std::size_t kHashBytes = 32;
  constexpr std::size_t kBase64Bytes = 44;
  std::array<unsigned char, kHashBytes> hash{};
  std::array<unsigned char, kBase64Bytes + 1> base64{};  // with its NUL
  const bool is_hashed = EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(), nullptr) == 1;
  HORAE_CHECK(is_hashed, "SHA-256 works");
  EVP_EncodeBlock(base64.data(), hash.data(), static_cast<int>(hash.size()));
  return fmt::format("'sha256-{}'", std::string(base64.begin(), base64.end() - 1));
}

}  // namespace

const std::string& docs_policy() {
  static const std::string kPolicy = fmt::format(
      "default-src 'none'; connect-src 'self'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'",
      source_hash(content_of(docs_page(), "script")), source_hash(content_of(docs_page(), "style")));
  return kPolicy;
}

std::string_view docs_page() {
  return R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Horae API</title>
<style>
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { margin: 0 } h2 { margin: 2rem 0 .5rem; text-transform: capitalize }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
summary { padding: .5rem .75rem; cursor: pointer; }
summary code { font-weight: 600 }
.method { display: inline-block; width: 4.2rem; font: 600 12px monospace; }
.GET { color: #2a7 } .POST { color: #27c } .PATCH { color: #b70 } .DELETE { color: #c33 }
code { font: .92em monospace; background: var(--soft); border-radius: 3px; padding: 0 .25em; }
.body { padding: 0 .75rem .75rem; }
textarea, input { font: 13px/1.5 monospace; width: 100%; box-sizing: border-box; padding: .4rem .5rem; margin-top: .2rem; }
textarea { resize: vertical } label { display: block; margin: .6rem 0 }
pre { background: var(--soft); padding: .5rem; border-radius: 4px; overflow: auto; max-height: 24rem; white-space: pre-wrap; }
button { font: inherit; padding: .3rem .9rem; } table { border-collapse: collapse } td { padding: .1rem .8rem .1rem 0; vertical-align: top }
</style>
</head>
<body>
<h1>Horae API <small id="version"></small></h1>
<p id="about"></p>
<p><a href="/openapi.json">openapi.json</a> · <a href="/metrics">metrics</a> · <a href="/readyz">readiness</a></p>
<p><label>Token, if the node requires one <input id="token" type="password" autocomplete="off" placeholder="horae_t-..."></label></p>
<main id="routes">Loading /openapi.json …</main>
<script>
"use strict";
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

// Prose with `code` between backticks; inserted as text only, so that it cannot inject markup.
const words = text => text.split("`").map((part, index) => index % 2 ? make("code", {}, part) : part);

// Fits the height to the text, with room for more lines.
const fit = area => { area.rows = Math.min(40, Math.max(8, area.value.split("\n").length + 2)); };

// A placeholder: an example, the default, the format or the type.
const hint = schema => String([...(schema.examples || []), schema.default, schema.format, schema.type].find(each => each !== undefined) ?? "");

const pretty = text => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };

function named(spec, schema) {
  const name = schema && schema.$ref && schema.$ref.split("/").pop();
  return name ? spec.components.schemas[name] : schema;
}

function shape(spec, schema) {
  return schema && Object.keys(schema).length ? JSON.stringify(named(spec, schema), null, 2) : "";
}

function answers(spec, operation) {
  const table = make("table");
  for (const [status, answer] of Object.entries(operation.responses)) {
    table.append(make("tr", {}, make("td", {}, make("code", {}, status)), make("td", {}, ...words(answer.description))));
  }
  const good = Object.values(operation.responses).map(answer => Object.values(answer.content || {})[0]).find(Boolean);
  const text = good ? shape(spec, good.schema) : "";
  return [table, text ? make("details", {}, make("summary", {}, "Schema of the answer"), make("pre", {}, text)) : ""];
}

function trial(path, method, spec, operation) {
  const fields = operation.parameters.map(parameter => {
    const input = make("input", { placeholder: hint(parameter.schema), name: parameter.name, spellcheck: false });
    const about = parameter.description ? [" – ", ...words(parameter.description)] : [];
    return { parameter, input, label: make("label", {}, make("code", {}, parameter.name), ...about, input) };
  });
  const content = operation.requestBody && Object.values(operation.requestBody.content)[0];
  const schema = content && named(spec, content.schema);
  const example = schema && schema.examples ? JSON.stringify(schema.examples[0], null, 2) : "{}";
  const body = schema && make("textarea", { value: example, spellcheck: false, oninput: () => fit(body) });
  if (body) fit(body);
  const output = make("pre", { hidden: true });
  const send = make("button", { type: "button" }, "Send");
  send.onclick = async () => {
    let target = path;
    const query = new URLSearchParams();
    for (const { parameter, input } of fields) {
      if (parameter.in === "path") target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (input.value) query.set(parameter.name, input.value);
    }
    if ([...query].length) target += "?" + query;
    const token = document.getElementById("token").value;
    const headers = token ? { Authorization: "Bearer " + token } : {};
    const options = { method: method.toUpperCase(), headers };
    if (body) Object.assign(options, { body: body.value, headers: { ...headers, "Content-Type": "application/json" } });
    output.hidden = false;
    output.textContent = "…";
    try {
      const response = await fetch(target, options);
      output.textContent = `${response.status} ${response.statusText}\n\n${pretty(await response.text())}`;
    } catch (failure) {
      output.textContent = String(failure);
    }
  };
  const description = schema ? make("details", {}, make("summary", {}, "Schema of the body"),
                                    make("pre", {}, JSON.stringify(schema, null, 2))) : "";
  return [...fields.map(field => field.label), body || "", description, make("p", {}, send), output];
}

function render(spec) {
  document.getElementById("version").textContent = spec.info.version;
  document.getElementById("about").replaceChildren(...words(spec.info.description));
  const main = document.getElementById("routes");
  main.textContent = "";
  const sections = new Map();
  for (const [path, operations] of Object.entries(spec.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags[0];
      if (!sections.has(tag)) sections.set(tag, make("section", {}, make("h2", {}, tag)));
      const name = method.toUpperCase();
      sections.get(tag).append(make("details", { id: operation.operationId },
        make("summary", {}, make("span", { className: "method " + name }, name), make("code", {}, path), " ", ...words(operation.summary)),
        make("div", { className: "body" }, ...answers(spec, operation), ...trial(path, method, spec, operation))));
    }
  }
  main.append(...sections.values());
}

fetch("/openapi.json").then(response => response.json()).then(render, failure => {
  document.getElementById("routes").textContent = "Cannot read /openapi.json: " + failure;
});
</script>
</body>
</html>
)html";
}

}  // namespace horae
