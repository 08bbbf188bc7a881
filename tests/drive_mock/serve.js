// Serves google-drive-mock on a free port of loopback, for as long as whoever started it holds its standard input open:
// killed or not, nobody leaves a server behind. What follows the first argument is the folder where it is installed.
//
// Beside the mock there are two addresses of ours: /token, which Google's library asks for an access token and which
// answers with the refresh token itself, so that the file of credentials decides what the mock is shown; and
// /requests, which tells every request that the mock had.
"use strict";

const http = require("node:http");
const { createRequire } = require("node:module");

const { createApp } = createRequire(`${process.argv[2]}/`)("google-drive-mock");
const mock = createApp();
const requests = [];

function answer(response, value) {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(value));
}

function answerToken(request, response) {
  let form = "";
  request.on("data", (piece) => (form += piece));
  request.on("end", () => {
    const token = new URLSearchParams(form).get("refresh_token");
    answer(response, { access_token: token, expires_in: 3600, token_type: "Bearer" });
  });
}

const server = http.createServer((request, response) => {
  if (request.url === "/token") return answerToken(request, response);
  if (request.url === "/requests") return answer(response, requests);
  requests.push(`${request.method} ${request.url}`);
  mock(request, response);
});
// A connection that waits for a while is not a fault, and must not look like one.
server.keepAliveTimeout = 240_000;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
