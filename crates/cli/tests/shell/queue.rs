//! `queue`: a job goes from one process to the next by its id and token.

use foldb::Db;
use serde_json::Value;

use crate::foldb::Shell;

/// Claims a job, and returns its id, token and body.
fn claim(shell: &Shell, flags: &str) -> (String, String, String) {
    let line = shell.ok(format!("queue claim db jobs {flags}").trim());
    let parts: Vec<&str> = line.trim_end_matches('\n').split('\t').collect();
    let [id, token, body] = parts[..] else { panic!("{line}") };
    (id.to_owned(), token.to_owned(), body.to_owned())
}

#[test]
fn a_job_is_pushed_claimed_and_acked_by_three_processes() {
    let shell = Shell::new();
    let first = shell.ok("queue push db jobs low");
    let second = shell.ok("queue push db jobs high --priority 3");
    assert_ne!(first, second);
    let (id, token, body) = claim(&shell, "--worker ann --lease 1h");
    assert_eq!((format!("{id}\n"), &body[..]), (second, "high"));
    assert_eq!(
        shell.ok("queue depth db jobs"),
        "ready    1\ndelayed  0\nleased   1\ndead     0\ndone     0\n"
    );
    let listed = shell.ok("queue list db jobs");
    assert_eq!(
        listed,
        format!("{}\tready\t0\t0\t\tlow\n{id}\tleased\t3\t1\tann\thigh\n", first.trim())
    );
    assert_eq!(shell.ok(&format!("queue ack db jobs {id} {token}")), "");
    let lost = shell.run(&format!("queue ack db jobs {id} {token}")).failed(1);
    assert!(lost.contains("no longer holds its lease") && lost.contains("has ended"), "{lost}");
    let depth: Value = serde_json::from_str(&shell.ok("queue depth db jobs --json")).unwrap();
    assert_eq!((depth["ready"].as_u64(), depth["done"].as_u64()), (Some(1), Some(1)));
}

#[test]
fn an_extended_lease_has_another_token() {
    let shell = Shell::new();
    shell.ok("queue push db jobs long");
    let (id, token, _) = claim(&shell, "--lease 60s");
    let line = shell.ok(&format!("queue extend db jobs {id} {token} --lease 2h"));
    let new = line.split('\t').nth(1).unwrap();
    assert_ne!(new, token);
    shell.run(&format!("queue ack db jobs {id} {token}")).failed(1);
    shell.ok(&format!("queue ack db jobs {id} {new}"));
}

#[test]
fn a_lease_that_has_ended_is_lost_with_the_next_claim() {
    let shell = Shell::new();
    shell.ok("queue push db jobs job");
    let (id, token, _) = claim(&shell, "--lease 1ms");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let (again, newer, _) = claim(&shell, "--lease 1h");
    assert_eq!(again, id);
    let lost = shell.run(&format!("queue fail db jobs {id} {token} why")).failed(1);
    assert!(lost.contains("attempt 1") && lost.contains("was given back"), "{lost}");
    shell.ok(&format!("queue ack db jobs {id} {newer}"));
}

#[test]
fn jobs_that_fail_become_dead_letters_that_revive_or_go() {
    let shell = Shell::new();
    shell.ok("queue push db jobs bad");
    let (id, token, _) = claim(&shell, "");
    assert_eq!(shell.ok(&format!("queue retry db jobs {id} {token}")), "waits\n");
    let (_, token, _) = claim(&shell, "");
    let fail = format!("queue fail db jobs {id} {token} broken --max-attempts 2 --json");
    assert_eq!(shell.ok(&fail), "{\"job\":\"dead\"}\n");
    assert_eq!(shell.ok("queue dead db jobs"), format!("{id}\tdead\t0\t2\tbroken\tbad\n"));
    let dead: Value = serde_json::from_str(&shell.ok("queue dead db jobs --json")).unwrap();
    assert_eq!((dead["reason"].as_str(), dead["body"].as_str()), (Some("broken"), Some("bad")));
    assert!(dead["time"].as_u64().is_some());
    shell.ok(&format!("queue revive db jobs {id}"));
    let not_dead = shell.run(&format!("queue discard db jobs {id}")).failed(1);
    assert!(not_dead.contains("no dead letter has the id"), "{not_dead}");
    let (_, token, _) = claim(&shell, "");
    shell.ok(&format!("queue fail db jobs {id} {token} again --max-attempts 1"));
    shell.ok(&format!("queue discard db jobs {id}"));
    assert_eq!(shell.ok("queue list db jobs"), "");
}

#[test]
fn a_claim_without_a_ready_job_says_when_one_is_due() {
    let shell = Shell::new();
    shell.ok("queue push db jobs later --delay 1h");
    let error = shell.run("queue claim db jobs").failed(1);
    assert!(error.contains("no job is ready; the next one is due in 3,600 s"), "{error}");
    shell.ok("queue push db others now");
    let line = shell.ok("queue claim db others --json");
    let claimed: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((claimed["body"].as_str(), claimed["attempt"].as_u64()), (Some("now"), Some(1)));
    let (id, token) = (&claimed["id"], claimed["token"].as_str().unwrap());
    shell.ok(&format!("queue ack db others {id} {token}"));
    let error = shell.run("queue claim db others").failed(1);
    assert!(error.contains("no job is ready, and none waits"), "{error}");
}

#[test]
fn bodies_take_the_form_of_values() {
    let shell = Shell::new();
    shell.ok("queue push db jobs 6109ff --as hex");
    let line = shell.ok("queue claim db jobs");
    assert!(line.ends_with("\ta\\t\\xff\n"), "{line}");
    assert!(shell.ok("queue list db jobs --as hex").ends_with("\t6109ff\n"));
}

#[test]
fn what_is_wrong_in_a_call_is_named() {
    let shell = Shell::new();
    for (line, code, expected) in [
        (
            "queue claim db jobs --lease soon",
            2,
            "--lease cannot be 'soon': expected a time such as",
        ),
        ("queue push db jobs x --delay 5x", 2, "--delay cannot be '5x': expected a time such as"),
        ("queue push db jobs", 2, "expected foldb queue push DB QUEUE BODY"),
        ("queue ack db jobs 1", 2, "expected foldb queue ack DB QUEUE ID TOKEN"),
        ("queue depth db jobs more", 2, "expected foldb queue depth DB QUEUE"),
        ("queue steal db jobs", 2, "steal"),
        ("queue claim db jobs --max-attempts 0", 2, "--max-attempts cannot be '0'"),
        ("queue depth db jobs", 1, "db"),
    ] {
        let error = shell.run(line).failed(code);
        assert!(error.contains(expected), "{line}: {error}");
        assert!(!shell.path("db").exists(), "{line}");
    }
    shell.ok("put db k v");
    for (line, code, expected) in [
        ("queue depth db jobs", 1, "'jobs'"),
        ("queue claim db default", 1, "holds entries that no queue wrote"),
        ("queue push db default x", 1, "holds entries that no queue wrote"),
    ] {
        let error = shell.run(line).failed(code);
        assert!(error.contains(expected), "{line}: {error}");
    }
    shell.ok("queue push db jobs x");
    let (id, token, _) = claim(&shell, "");
    for (line, code, expected) in [
        (format!("queue ack db jobs {id} token"), 1, "'token' is no token of a lease"),
        (format!("queue ack db jobs one {token}"), 2, "'one' is no id of a job"),
        (format!("queue ack db jobs 77 {token}"), 1, "no longer holds its lease"),
        ("queue revive db jobs -1".to_owned(), 2, "'-1' is no id of a job"),
    ] {
        let error = shell.run(&line).failed(code);
        assert!(error.contains(expected), "{line}: {error}");
    }
    let db = Db::open(shell.path("db"), foldb::Options::default()).unwrap();
    shell.run("queue depth db jobs").failed(1);
    db.close().unwrap();
    shell.ok(&format!("queue ack db jobs {id} {token}"));
}
