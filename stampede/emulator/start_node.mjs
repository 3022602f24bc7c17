// Runs a handler of Node.js against Lambda's runtime API on the embedded AWS: node start_node.mjs HANDLER
// AWS's own client, aws-lambda-ric, is part of the managed runtime, but its installation compiles it with cmake and autotools.
// This client finds, calls and reports handlers in the same way, except streamed replies, which a queue's trigger doesn't use,
// and the time and id at the start of each log line.
import { existsSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
// From Node.js 24 on Lambda supports returned replies and no callbacks.
const takesCallbacks = /nodejs(18|20|22)\.x$/.test(process.env.AWS_EXECUTION_ENV);

// Waits for the next event without a limit, unlike fetch.
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

// A handler may throw any value.
function tellError(where, thrown) {
  const isError = thrown instanceof Error;
  const type = isError ? String(thrown.name) : typeof thrown;
  const trace = isError ? String(thrown.stack).split("\n") : [];
  const told = { errorType: type, errorMessage: String(isError ? thrown.message : thrown), trace };
  console.error(thrown);
  return ask("POST", where, JSON.stringify(told), {
    "Content-Type": "application/json",
    "Lambda-Runtime-Function-Error-Type": encodeURIComponent(type),
  });
}

function runtimeError(type, message) {
  return Object.assign(new Error(message), { name: `Runtime.${type}` });
}

// Loads a file of the package by its path without an extension, or else a package of node_modules or of a layer.
function load(module) {
  const file = path.resolve(process.env.LAMBDA_TASK_ROOT, module);
  const ending = ["", ".js", ".mjs", ".cjs"].find((ending) => existsSync(file + ending));
  if (ending === "") return createRequire(file)(file);
  if (ending !== undefined) return import(pathToFileURL(file + ending));
  return createRequire(path.join(process.env.LAMBDA_TASK_ROOT, "package"))(module);
}

async function loadHandler(name) {
  const { dir, base } = path.parse(name);
  const [module, ...names] = base.split(".");
  if (!names.length) throw runtimeError("MalformedHandlerName", `${name} names no function of a module`);
  const loaded = await Promise.resolve(path.join(dir, module)).then(load).catch((error) => {
    const type = { MODULE_NOT_FOUND: "ImportModuleError", ERR_MODULE_NOT_FOUND: "ImportModuleError" }[error?.code];
    if (type) throw runtimeError(type, `${error}`);
    throw error instanceof SyntaxError ? runtimeError("UserCodeSyntaxError", `${error.stack}`) : error;
  });
  const exported = [loaded, loaded?.default].map((from) => names.reduce((value, key) => value?.[key], from));
  const handler = exported.find((value) => typeof value === "function");
  if (!handler) throw runtimeError("HandlerNotFound", `${name} is undefined or not exported`);
  if (handler.length > 2 && !takesCallbacks) {
    const message = "from Node.js 24 on Lambda takes no handler with a callback: return the reply, or a promise of it";
    throw runtimeError("CallbackHandlerDeprecated", message);
  }
  return handler;
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

// Before Node.js 24 a handler returns a promise or calls its third parameter, whose reply waits until the event loop is empty.
function invoke(handler, event, context) {
  if (!takesCallbacks) return handler(event, context);
  return new Promise((resolve, reject) => {
    const whenIdle = (settle) => process.removeAllListeners("beforeExit").once("beforeExit", settle);
    const callback = (error, reply) => {
      if (error !== undefined && error !== null) reject(error);
      else if (context.callbackWaitsForEmptyEventLoop) whenIdle(() => resolve(reply));
      else resolve(reply);
    };
    const neverSettled = runtimeError("NodeJsExit", "a promise of the handler is never settled");
    whenIdle(() => (handler.constructor.name === "AsyncFunction" ? reject(neverSettled) : resolve(null)));
    const returned = handler(event, context, callback);
    if (typeof returned?.then === "function") returned.then(resolve, reject);
  });
}

let current = "init/error"; // where uncaught errors are reported
const endWith = (status) => (error) => tellError(current, error).finally(() => process.exit(status));
process.on("uncaughtException", endWith(129));
process.on("unhandledRejection", (why) => endWith(128)(runtimeError("UnhandledPromiseRejection", why?.stack ?? `${why}`)));

const handler = await loadHandler(process.argv[2]).catch(endWith(1));
for (;;) {
  const { headers, text } = await ask("GET", "invocation/next");
  const invocation = `invocation/${headers["lambda-runtime-aws-request-id"]}`;
  current = `${invocation}/error`;
  process.env._X_AMZN_TRACE_ID = headers["lambda-runtime-trace-id"];
  try {
    const reply = await invoke(handler, JSON.parse(text), contextOf(headers));
    await ask("POST", `${invocation}/response`, JSON.stringify(reply) ?? "null", { "Content-Type": "application/json" });
  } catch (error) {
    await tellError(current, error);
  }
}
