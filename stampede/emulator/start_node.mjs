// Runs a handler of Node.js against Lambda's runtime API on the embedded AWS: node start_node.mjs module.function FOLDER...
// AWS's own client, aws-lambda-ric, is compiled when it is installed, which takes cmake and autotools; on AWS the managed runtime
// has it. What is said of handlers in the Lambda guide ("Define Lambda function handler in Node.js") holds here but for streams.
import { existsSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [handlerName, ...folders] = process.argv.slice(2);
const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

// The next event is waited for without a limit, which fetch doesn't do.
function ask(method, where, body = "", headers = {}) {
  return new Promise((resolve, reject) => {
    const options = { agent, host, port, method, path: `/2018-06-01/runtime/${where}`, headers };
    const request = http.request(options, (answer) => {
      const pieces = [];
      answer.on("data", (piece) => pieces.push(piece));
      answer.on("end", () => resolve({ headers: answer.headers, text: Buffer.concat(pieces).toString() }));
      answer.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

function tellError(where, thrown) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const told = { errorType: error.name, errorMessage: error.message, trace: (error.stack ?? "").split("\n") };
  console.error(error);
  return ask("POST", where, JSON.stringify(told), {
    "Content-Type": "application/json",
    "Lambda-Runtime-Function-Error-Type": error.name,
  });
}

async function loadHandler() {
  const { dir, base } = path.parse(handlerName);
  const [module, ...names] = base.split(".");
  const files = folders.flatMap((folder) =>
    [".js", ".mjs", ".cjs"].map((ending) => path.join(folder, dir, module + ending)),
  );
  const file = files.find(existsSync);
  if (file === undefined) {
    throw Object.assign(new Error(`Cannot find module '${path.join(dir, module)}'`), { name: "Runtime.ImportModuleError" });
  }
  const loaded = await import(pathToFileURL(file));
  for (const exported of [loaded, loaded.default]) {
    const found = names.reduce((value, name) => value?.[name], exported);
    if (typeof found === "function") return found;
  }
  throw Object.assign(new Error(`${handlerName} is undefined or not exported`), { name: "Runtime.HandlerNotFound" });
}

function contextOf(headers) {
  const deadline = Number(headers["lambda-runtime-deadline-ms"]);
  return {
    awsRequestId: headers["lambda-runtime-aws-request-id"],
    invokedFunctionArn: headers["lambda-runtime-invoked-function-arn"],
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

// A handler returns a promise, or takes a third parameter and calls it.
function invoke(handler, event, context) {
  return new Promise((resolve, reject) => {
    const callback = (error, reply) => (error ? reject(error) : resolve(reply));
    const returned = handler(event, context, callback);
    if (typeof returned?.then === "function") returned.then(resolve, reject);
    else if (handler.length < 3) resolve(returned);
  });
}

let current = "init/error"; // where an error belongs that nobody caught

for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.on(event, (error) => tellError(current, error).finally(() => process.exit(1)));
}

process.env.LAMBDA_TASK_ROOT && process.chdir(process.env.LAMBDA_TASK_ROOT);
const handler = await loadHandler();
for (;;) {
  const { headers, text } = await ask("GET", "invocation/next");
  const invocation = `invocation/${headers["lambda-runtime-aws-request-id"]}`;
  current = `${invocation}/error`;
  try {
    const reply = await invoke(handler, JSON.parse(text), contextOf(headers));
    await ask("POST", `${invocation}/response`, JSON.stringify(reply) ?? "null", { "Content-Type": "application/json" });
  } catch (error) {
    await tellError(current, error);
  }
}
