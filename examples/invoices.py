"""Effects with the run's own success, on SQLite or PostgreSQL. In this folder: `fencepost run invoices:app`,
then `fencepost schedules trigger send_invoices`."""

from fencepost import CatchUp, Cron, Fencepost, Retry, Run

app = Fencepost()  # FENCEPOST_STORE, or sqlite:///fencepost.db


@app.job(
    schedule=Cron("0 0 1 * *", tz="Europe/Berlin"),
    overlap="skip",
    catch_up=CatchUp("sequential", max_lateness="2d"),
    retry=Retry(max_attempts=5, base="5s", cap="5m"),
    timeout="10m",
)
async def send_invoices(run: Run) -> None:
    async with run.transaction() as tx:  # commits with the success marker, or not at all
        await tx.execute("create table if not exists sent (month text primary key, fence bigint)")
        month = run.fire_time.strftime("%Y-%m-%d %H:%M")
        await tx.execute("insert into sent (month, fence) values (%s, %s)", (month, run.fence))
        for customer in ("anna", "bob"):  # committed with the rest: a letter for each, or for nobody
            await app.enqueue(print_letter, key=f"{month} {customer}", connection=tx, customer=customer)


@app.job()
def print_letter(run: Run, customer: str) -> None:
    with run.transaction() as tx:  # the same in a plain function
        tx.execute("create table if not exists letters (customer text, run_key text primary key)")
        tx.execute("insert into letters (customer, run_key) values (%s, %s)", (customer, run.key))
