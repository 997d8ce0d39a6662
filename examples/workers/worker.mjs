// In plain Node, no packages: FENCEPOST_TOKEN="$(fencepost token create counter --role worker)" node worker.mjs http://127.0.0.1:8580
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const base = process.argv[2] ?? "http://127.0.0.1:8580";
const worker = `node-${randomUUID()}`; // new at each start: a name belongs to one process
const held = new Set(), dropped = []; // fences: of the runs in hand; of those that were given up or not receipted
const stop = new AbortController(); // no more claims; what is in hand is finished
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());

const jobs = {
  async count({ payload }, say, signal) {
    for (let n = 1; n <= payload.to; n++) {
      await sleep((payload.pause_s ?? 0.1) * 1000, undefined, { signal });
      say(n / payload.to, `counted to ${n}`);
    }
    return { counted: payload.to };
  },
};

// One call; the answer, or null where there was none: then nobody knows whether it was carried out.
async function call(path, body, within_s = 10, ...signals) {
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(within_s * 1000), ...signals]);
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env.FENCEPOST_TOKEN}` };
    const response = await fetch(`${base}/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal });
    return response.status < 500 ? { status: response.status, body: await response.json() } : null;
  } catch {
    return null;
  }
}

async function work(run) {
  const ticket = { attempt: run.attempt, fence: run.fence };
  const path = `runs/${encodeURIComponent(run.run_key)}`;
  const control = new AbortController();
  let said = {}, trusted = Date.now() + run.alive_for_s * 1000, lost = false, receipt = null;
  const beat = setInterval(async () => {
    const sent = Date.now(), answer = await call(`${path}/heartbeat`, { ...ticket, ...said }, run.heartbeat_every_s);
    if (answer?.status === 200) trusted = sent + answer.body.alive_for_s * 1000;
    lost ||= answer?.status === 409 || Date.now() > trusted; // not heard for too long: it may be another's
    if (lost || answer?.body.cancel_requested) control.abort(new Error("Stopped: asked to, or the run was lost"));
  }, run.heartbeat_every_s * 1000);
  const say = (progress, note) => (said = { progress, note });
  const [verb, outcome] = await jobs[run.job](run, say, control.signal).then(
    (result) => ["complete", { result }],
    (error) => ["fail", { error: String(error.cause ?? error), detail: error.stack }],
  );
  // Repeated until it is answered, also if a heartbeat finds the run ended: that may be by this very report.
  if (!lost) while ((receipt = await call(`${path}/${verb}`, { ...ticket, ...outcome })) === null) await sleep(500);
  clearInterval(beat);
  if (held.delete(run.fence) && receipt?.status !== 200) dropped.push(run.fence); // it was begun: never again
}

while (!stop.signal.aborted) {
  const asked = { worker, jobs: Object.keys(jobs), limit: 10, wait_s: 20, known: [...held, ...dropped.slice(-500)] };
  const answer = await call("claims", asked, 30, stop.signal);
  if (answer?.status !== 200 && !stop.signal.aborted) console.error(answer?.body.detail ?? "no answer"), await sleep(500);
  for (const run of answer?.body.claims ?? []) held.add(run.fence), work(run);
}
