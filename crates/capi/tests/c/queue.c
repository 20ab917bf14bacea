// Job queues: pushes, claims, the ends of attempts, and bad arguments. Run it with a directory that
// does not exist yet.

#include "check.h"

#define FAILS(expected, call) FAILS_WITH(expected, "", call)
#define MINUTE 60000

static bool is(foldb_bytes_t bytes, const char *expected) {
  return bytes.len == strlen(expected) && memcmp(bytes.data, expected, bytes.len) == 0;
}

static foldb_claim_t *claim_of(foldb_queue_t *queue, uint64_t lease_millis) {
  foldb_claim_t *claim;
  OK(foldb_queue_claim(queue, "worker", lease_millis, &claim));
  return claim;
}

static foldb_job_t job_of(foldb_claim_t *claim) {
  foldb_job_t job;
  CHECK(claim != NULL);
  OK(foldb_claim_job(claim, &job));
  return job;
}

static foldb_queue_depth_t depth_of(foldb_queue_t *queue) {
  foldb_queue_depth_t depth;
  OK(foldb_queue_depth(queue, &depth));
  return depth;
}

// The job and what it does to the database end together.
static void ack(foldb_t *db, foldb_queue_t *queue) {
  uint64_t first, second;
  OK(foldb_queue_push(queue, BYTES("a"), 0, 0, &first));
  OK(foldb_queue_push(queue, BYTES("b"), 7, 0, &second));
  CHECK(first != second);
  foldb_claim_t *claim = claim_of(queue, MINUTE);
  foldb_job_t job = job_of(claim);
  CHECK(job.id == second && is(job.body, "b") && job.priority == 7 && job.attempts == 1);
  CHECK(job.state == FOLDB_JOB_LEASED && strcmp(job.text, "worker") == 0 && job.time_millis > 0);

  foldb_transaction_t *transaction;
  OK(foldb_transaction_begin(db, FOLDB_SERIALIZABLE, NULL, &transaction));
  OK(foldb_transaction_put(transaction, NULL, BYTES("done"), BYTES("b")));
  OK(foldb_queue_ack_in(queue, transaction, claim));
  OK(foldb_queue_push_in(queue, transaction, BYTES("c"), 0, 0, NULL));
  CHECK(depth_of(queue).leased == 1);
  OK(foldb_transaction_commit(transaction));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_ack_in(queue, transaction, claim));
  foldb_transaction_free(transaction);
  CHECK(has(db, "done", "b"));
  FAILS_WITH(FOLDB_ABORTED, "no longer holds its lease", foldb_queue_ack(queue, claim));
  foldb_claim_free(claim);

  for (int left = 2; left > 0; left--) {
    claim = claim_of(queue, MINUTE);
    CHECK(claim != NULL);
    OK(foldb_queue_ack(queue, claim));
    foldb_claim_free(claim);
  }
  CHECK(claim_of(queue, MINUTE) == NULL);
  foldb_queue_depth_t depth = depth_of(queue);
  CHECK(depth.done == 3 && depth.ready == 0 && depth.leased == 0);
}

// Another process goes on with the token.
static void tokens(foldb_queue_t *queue) {
  OK(foldb_queue_push(queue, BYTES("long"), 0, 0, NULL));
  foldb_claim_t *claim = claim_of(queue, MINUTE), *resumed;
  uint64_t id = job_of(claim).id;
  char before[100];
  CHECK((size_t)snprintf(before, sizeof before, "%s", foldb_claim_token(claim)) < sizeof before);
  OK(foldb_queue_resume(queue, id, before, &resumed));
  CHECK(is(job_of(resumed).body, "long"));
  OK(foldb_queue_extend(queue, resumed, 10 * MINUTE));
  CHECK(strcmp(before, foldb_claim_token(resumed)) != 0);
  FAILS(FOLDB_ABORTED, foldb_queue_extend(queue, claim, MINUTE));
  FAILS(FOLDB_ABORTED, foldb_queue_resume(queue, id, before, &claim));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "no token", foldb_queue_resume(queue, id, "x", &claim));
  OK(foldb_queue_ack(queue, resumed));
  foldb_claim_free(claim);
  foldb_claim_free(resumed);
  CHECK(foldb_claim_token(NULL) == NULL);
}

static void ends_of_attempts(foldb_queue_t *queue) {
  bool is_dead = true;
  int64_t due;
  uint64_t id;
  OK(foldb_queue_push(queue, BYTES("bad"), 0, 0, &id));
  OK(foldb_queue_next_due(queue, &due));
  CHECK(due == 0);
  foldb_claim_t *claim = claim_of(queue, MINUTE);
  OK(foldb_queue_retry(queue, claim, 0, &is_dead));
  CHECK(!is_dead);
  foldb_claim_free(claim);
  claim = claim_of(queue, MINUTE);
  CHECK(job_of(claim).attempts == 2);
  OK(foldb_queue_fail(queue, claim, "not JSON", &is_dead));
  CHECK(is_dead && depth_of(queue).dead == 1);
  FAILS(FOLDB_ABORTED, foldb_queue_retry(queue, claim, 0, NULL));
  foldb_claim_free(claim);

  OK(foldb_queue_push(queue, BYTES("later"), 0, MINUTE, NULL));
  OK(foldb_queue_next_due(queue, &due));
  CHECK(due > 0 && due <= MINUTE);
  foldb_jobs_t *jobs;
  foldb_job_t job;
  bool found;
  OK(foldb_queue_jobs(queue, &jobs));
  OK(foldb_jobs_next(jobs, &job, &found));
  CHECK(found && job.state == FOLDB_JOB_DELAYED && is(job.body, "later") && job.text == NULL);
  OK(foldb_jobs_next(jobs, &job, &found));
  CHECK(found && job.state == FOLDB_JOB_DEAD && job.id == id && is(job.body, "bad"));
  CHECK(strcmp(job.text, "not JSON") == 0 && job.time_millis > 0);
  OK(foldb_jobs_next(jobs, &job, &found));
  CHECK(!found);
  foldb_jobs_free(jobs);

  OK(foldb_queue_revive(queue, id));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "no dead letter", foldb_queue_revive(queue, id));
  claim = claim_of(queue, MINUTE);
  OK(foldb_queue_bury(queue, claim, "again"));
  foldb_claim_free(claim);
  OK(foldb_queue_discard(queue, id));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_discard(queue, id));
}

static void bad_arguments(foldb_t *db, foldb_queue_t *queue) {
  foldb_queue_t *other;
  foldb_claim_t *claim;
  foldb_jobs_t *jobs;
  foldb_job_t job;
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "no queue wrote",
             foldb_queue_open(db, "default", 0, 0, false, &other));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_open(db, NULL, 0, 0, false, &other));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_open(db, "jobs", 0, 0, false, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_push(NULL, BYTES("a"), 0, 0, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_push(queue, NULL, 1, 0, 0, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_push_in(queue, NULL, BYTES("a"), 0, 0, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_claim(queue, NULL, 1, &claim));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_claim(queue, "worker", 1, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_ack(queue, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_fail(queue, NULL, "why", NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_claim_job(NULL, &job));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_depth(queue, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_next_due(queue, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_queue_jobs(queue, NULL));
  OK(foldb_queue_jobs(queue, &jobs));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_jobs_next(jobs, &job, NULL));
  foldb_jobs_free(jobs);
  foldb_jobs_free(NULL);
  foldb_claim_free(NULL);
  foldb_queue_free(NULL);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  foldb_t *db;
  OK(foldb_open(argv[1], options, &db));
  foldb_options_free(options);
  foldb_queue_t *queue;
  OK(foldb_queue_open(db, "jobs", 2, 0, false, &queue));
  ack(db, queue);
  tokens(queue);
  ends_of_attempts(queue);
  bad_arguments(db, queue);
  foldb_queue_free(queue);
  OK(foldb_close(db));
  puts("every job has ended");
  return 0;
}
