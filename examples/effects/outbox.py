"""Mails that leave if and only if the order was taken. In this folder: `fencepost run outbox:app`, then
`fencepost enqueue take_order --key 7 --payload '{"customer": "anna"}'`."""

from dataclasses import dataclass

from fencepost import Fencepost, Retry, Run

app = Fencepost()


@dataclass
class Mail:
    to: str
    subject: str


async def send(run: Run, mail: Mail) -> None:
    """`run.key` is the same for every attempt: give it to the mail server as the message's id."""
    print(f"to {mail.to}: {mail.subject} <{run.key}>", flush=True)


mails = app.outbox("mails", send, retry=Retry(max_attempts=8), timeout="30s")


@app.job()
async def take_order(run: Run, customer: str) -> None:
    async with run.transaction() as tx:
        await tx.execute("create table if not exists orders (customer text, run_key text primary key)")
        await tx.execute("insert into orders (customer, run_key) values (%s, %s)", (customer, run.key))
        await mails.put(Mail(customer, "we have your order"), connection=tx, run=run, name="receipt")
