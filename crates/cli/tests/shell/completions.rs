//! `completions`.

use std::process::Command;

use crate::foldb::Shell;

#[test]
fn each_shell_has_its_script_and_others_are_unknown() {
    let shell = Shell::new();
    for (name, part) in
        [("bash", "complete -F"), ("zsh", "#compdef foldb"), ("fish", "complete -c foldb")]
    {
        let script = shell.ok(&format!("completions {name}"));
        assert!(script.contains(part) && script.contains("prefix"), "{name}");
    }
    let message = shell.run("completions bsh").failed(2);
    assert!(message.contains("the nearest is 'bash'"), "{message}");
}

/// The script is asked as bash would, where there is a bash.
#[test]
fn bash_completes_commands_and_flags() {
    let shell = Shell::new();
    std::fs::write(shell.path("foldb.bash"), shell.ok("completions bash")).unwrap();
    let complete = |words: &str| {
        let count = words.split(' ').count();
        let script = format!(
            "source foldb.bash; COMP_WORDS=({words}); COMP_CWORD={}; \
             _foldb foldb \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             echo \"${{COMPREPLY[@]}}\"",
            count - 1
        );
        let ran = Command::new("bash").args(["-c", &script]).current_dir(shell.path("")).output();
        ran.ok().map(|output| String::from_utf8(output.stdout).unwrap())
    };
    let Some(commands) = complete("foldb sc") else {
        eprintln!("there is no bash here: its completions were not tried");
        return;
    };
    assert_eq!(commands, "scan\n");
    assert_eq!(complete("foldb scan db --pre").unwrap(), "--prefix\n");
    assert_eq!(complete("foldb get db k --as u").unwrap(), "utf8 u64\n");
}
