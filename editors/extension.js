// Starts `treadle lsp` for contracts and queries; everything else is the server's.
"use strict";

const path = require("node:path");
const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function command() {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const [program, ...args] = workspace.getConfiguration("treadle").get("command", ["treadle", "lsp"]);
  const relative = program.includes("/") && !path.isAbsolute(program) && folder !== undefined;
  const options = folder === undefined ? {} : { cwd: folder };
  return {
    command: relative ? path.join(folder, program) : program,
    args,
    options,
    transport: TransportKind.stdio,
  };
}

function activate() {
  client = new LanguageClient("treadle", "Treadle", command(), {
    documentSelector: [{ language: "riff" }, { language: "riffq" }],
  });
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
