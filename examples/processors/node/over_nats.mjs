// A processor over NATS, with the package nats. Usage: node over_nats.mjs nats://localhost thumbs
import { setTimeout as sleep } from "node:timers/promises";
import { AckPolicy, connect, JSONCodec, nanos } from "nats";

const AT_ONCE = 4;
const ACK_WAIT_MS = 30_000;
const WAIT_MS = 1_000;
const [url, destination] = process.argv.slice(2);
const json = JSONCodec();

/** The work itself. It fails in the attempts before `busy_until`. */
async function job({ image, takes_s = 0, busy_until = 1 }, attempt, signal) {
  await sleep(takes_s * 1000, undefined, { signal });
  if (attempt < busy_until) throw new Error("no room for the image");
  return { image, width: 100 };
}

const client = await connect({ servers: url });
const jetstream = client.jetstream();
const works = new Map(); // The attempts in progress, by run key and fence.
let stopping = false;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => (stopping = true));

async function processMessage(message) {
  const said = (name) => message.headers.get(`fencepost-${name}`); // "" where it is missing
  const order = {
    run_key: said("run-key"), attempt: Number(said("attempt")), fence: Number(said("fence")), processor: "node",
  };
  const id = `${order.run_key} ${order.fence}`;

  async function reply(form) {
    if (said("reply-to")) await jetstream.publish(said("reply-to"), json.encode({ ...order, ...form }));
  }

  async function showLife(signal) {
    const everyMs = Number(said("heartbeat-every") || 5) * 1000;
    while (await sleep(everyMs, true, { signal }).catch(() => false)) {
      try {
        await reply({ outcome: "heartbeat" });
        message.working(); // NATS keeps the message for us.
      } catch (error) {
        console.error(error.message); // One that is lost is followed by the next.
      }
    }
  }

  if (said("delivery") === "at_most_once") await message.ackAck();
  await reply({ outcome: "started" });
  console.log("started", order.run_key, order.attempt);
  const [work, life] = [new AbortController(), new AbortController()];
  works.set(id, work);
  const timer = said("timeout") && setTimeout(() => work.abort("timeout"), Number(said("timeout")) * 1000);
  const beats = showLife(life.signal);
  let ending;
  try {
    ending = { outcome: "succeeded", result: await job(message.json(), order.attempt, work.signal) };
  } catch (error) {
    ending = { outcome: "failed", error: `${error.name}: ${error.message}`, retry_after: 0.1 };
  }
  clearTimeout(timer);
  works.delete(id);
  life.abort();
  await beats;
  const why = work.signal.reason ?? ending.outcome;
  if (why === "timeout") ending = { outcome: "failed", error: "TimedOut: it took too long" };
  if (why === "cancelled") ending = { outcome: "failed", error: "cancelled", permanent: true };
  if (why !== "lost" && why !== "late") await reply(ending); // Otherwise the run is no longer ours.
  await message.ackAck(); // Only now: NATS delivers the message again if this process dies before.
  console.log(why, order.run_key, order.attempt);
}

/** Runs that are to stop; some of them may be ours. */
async function stopWorks(announcements) {
  for await (const announcement of announcements) {
    const { run_key, fence, why } = announcement.json();
    works.get(`${run_key} ${fence}`)?.abort(why);
  }
}

async function lane(consumer) {
  while (!stopping) {
    const message = await consumer.next({ expires: WAIT_MS });
    if (message) await processMessage(message);
  }
}

const listening = stopWorks(client.subscribe("fencepost.announcements.fencepost.control.>"));
const manager = await jetstream.jetstreamManager();
const stream = await manager.streams.find(destination);
const name = `fencepost-${destination.replaceAll(".", "=").replaceAll("/", "+")}`;
await manager.consumers.add(stream, {
  durable_name: name, filter_subject: destination, ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACK_WAIT_MS),
});
const consumer = await jetstream.consumers.get(stream, name);
console.log("ready");
await Promise.all(Array.from({ length: AT_ONCE }, () => lane(consumer)));
await client.drain();
await listening;
