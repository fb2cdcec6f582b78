//! What pages look like, and that no text of a run does anything to them.

mod html_reader;
mod look;

use expect_test::expect;

use self::html_reader::{HtmlTag, read_tags, visible_text};
use super::*;
use crate::fixture::{ATTACK, Fixture};

/// The elements that pages consist of.
const ELEMENTS: &str = "a article aside body button code dd defs del details div dl dt fieldset \
    figcaption figure form h1 h2 h3 h4 head header html input ins kbd label legend li link main marker \
    meta nav ol option p path pattern polygon pre rect script section select span strong summary svg g \
    table tbody td text textarea tfoot th thead time title tr ul wbr br circle";

/// The attributes that they have.
const ATTRIBUTES: &str = "action aria-controls aria-current aria-hidden aria-label aria-labelledby \
    aria-live aria-pressed autocapitalize autocomplete charset checked class colspan content cx cy d \
    datetime download for height hidden href id inputmode lang marker-end markerheight markerunits \
    markerwidth method name open orient pattern patterntransform patternunits placeholder points \
    preserveaspectratio r refx refy rel required role rows rx scope selected size spellcheck src \
    tabindex title type value viewbox width x y";

fn render_page(shell: &Shell, page: &Page, part: Option<&str>) -> String {
    match render(shell, page, part) {
        Ok(html) => html,
        Err(error) => panic!("{part:?}: {error:?}"),
    }
}

/// Returns all pages, each with the elements of it that can be had alone, as they are rendered.
fn rendered(fixture: &Fixture) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, page) in fixture.pages() {
        let shell = fixture.shell("/here?q=1", Theme::Auto);
        let content = page_content(&shell, &page, None);
        all.push((name.to_owned(), render_page(&shell, &page, None)));
        let parts = content.parts.iter().chain(["nav"].iter());
        for part in parts {
            all.push((
                format!("{name}#{part}"),
                render_page(&shell, &page, Some(part)),
            ));
        }
    }
    all
}

#[test]
fn an_element_that_is_asked_for_alone_is_the_one_of_the_page() {
    let fixture = Fixture::recorded();
    for (name, page) in fixture.pages() {
        let shell = fixture.shell("/here", Theme::Light);
        let whole = render_page(&shell, &page, None);
        for part in page_content(&shell, &page, None).parts {
            let alone = render_page(&shell, &page, Some(part));
            assert!(whole.contains(alone.trim()), "{name}#{part}");
            let tags = read_tags(&alone).unwrap();
            assert_eq!(tags[0].attribute("id"), Some(*part), "{name}");
        }
        let missing = render(&shell, &page, Some("nothing"));
        assert!(
            matches!(missing, Err(RenderError::MissingPart(_))),
            "{name}"
        );
    }
}

#[test]
fn a_file_of_a_change_can_be_had_alone() {
    let fixture = Fixture::recorded();
    let shell = fixture.shell("/here", Theme::Light);
    let pages = fixture.pages();
    let (_, page) = pages.iter().find(|(name, _)| *name == "diff").unwrap();
    let folded = render_page(&shell, page, None);
    assert!(folded.contains("data-unfold=\"file-3\""));
    let file = render_page(&shell, page, Some("file-3"));
    assert!(
        file.contains("id=\"file-3\"") && file.contains("<table class=\"diff"),
        "{file}"
    );
    let missing = render(&shell, page, Some("file-4"));
    assert!(matches!(missing, Err(RenderError::MissingPart(_))));
}

#[test]
fn no_text_of_a_run_does_anything_to_a_page() {
    for (name, html) in rendered(&Fixture::hostile()) {
        let tags = read_tags(&html).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        for tag in &tags {
            check_tag(&name, tag);
        }
        let acts = |c: char| codeteam_core::untrusted_text::is_active_character(c);
        assert_eq!(
            html.find(acts),
            None,
            "{name} has a character that acts on it"
        );
        assert!(!html.contains(ATTACK), "{name}");
        assert!(
            !html.contains("49{%") && !html.contains("49 {%"),
            "{name} has evaluated a text"
        );
    }
}

#[track_caller]
fn check_tag(page: &str, tag: &HtmlTag) {
    let name = tag.name.as_str();
    let is_known = name == "!doctype" || ELEMENTS.split_whitespace().any(|known| known == name);
    assert!(is_known, "{page} has <{name}>");
    if name == "script" {
        assert!(
            tag.attribute("src")
                .is_some_and(|src| src.starts_with("/assets/app-")),
            "{page}"
        );
        assert_eq!(tag.text_after, "", "{page}");
    }
    for (attribute, value) in &tag.attributes {
        let is_known = attribute.starts_with("data-")
            || name == "!doctype"
            || ATTRIBUTES
                .split_whitespace()
                .any(|known| known == attribute);
        assert!(is_known, "{page} has <{name} {attribute}>");
        if ["href", "src", "action"].contains(&attribute.as_str()) {
            let is_own =
                value.starts_with('#') || (value.starts_with('/') && !value.starts_with("//"));
            assert!(is_own, "{page} leads to {value}");
        }
    }
}

#[test]
fn the_same_holds_without_an_attack() {
    for (name, html) in rendered(&Fixture::recorded()) {
        for tag in read_tags(&html).unwrap_or_else(|problem| panic!("{name}: {problem}")) {
            check_tag(&name, &tag);
        }
    }
}

#[test]
fn no_two_elements_of_a_page_have_the_same_id_and_labels_lead_somewhere() {
    for (name, html) in rendered(&Fixture::recorded()) {
        if name.contains('#') {
            continue;
        }
        let tags = read_tags(&html).unwrap();
        let mut ids: Vec<&str> = tags.iter().filter_map(|tag| tag.attribute("id")).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}");
        for tag in &tags {
            if let Some(label) = tag.attribute("aria-labelledby") {
                assert!(ids.contains(&label), "{name}: nothing has the id {label}");
            }
        }
        assert_eq!(
            tags.iter().filter(|tag| tag.name == "h1").count(),
            1,
            "{name}"
        );
        assert_eq!(
            tags.iter().filter(|tag| tag.name == "main").count(),
            1,
            "{name}"
        );
    }
}

#[test]
fn a_session_that_only_reads_has_no_form_that_decides() {
    let fixture = Fixture::recorded();
    for (name, page) in fixture.pages() {
        let mut shell = fixture.shell("/here", Theme::Light);
        shell.is_read_only = true;
        shell.is_one_run = true;
        let html = render_page(&shell, &page, None);
        let posts = html.matches("method=\"post\"").count();
        // The colours, and to sign out.
        assert_eq!(posts, 2, "{name}");
    }
}

#[test]
fn every_form_has_the_token_and_the_way_back() {
    for (name, html) in rendered(&Fixture::recorded()) {
        let forms = html.matches("method=\"post\"").count();
        assert_eq!(
            html.matches("name=\"token\" value=\"4f1c9a\"").count(),
            forms,
            "{name}"
        );
        assert_eq!(
            html.matches("name=\"back\" value=\"/here?q=1\"").count(),
            forms,
            "{name}"
        );
    }
}

fn part_text(page: &str, part: &str) -> String {
    let fixture = Fixture::recorded();
    let shell = fixture.shell("/here", Theme::Light);
    let pages = fixture.pages();
    let (_, page) = pages.iter().find(|(name, _)| *name == page).unwrap();
    visible_text(&render_page(&shell, page, Some(part)))
}

#[test]
fn the_inbox_says_what_is_asked_and_how_risky_it_is() {
    expect![[r"
        approve risk: high1 min ago
        Is this change what you want?
        Count words and characters · task-002 · words
        Still needed 1 more of anna, eva
        Deadline it goes on in 25 min unless somebody rejects it
        answer 1 min ago
        Is this change what you want?
        Count words and characters · task-002 · words
        Nobody drives these
        Move to Python 3.13
        Is this change what you want?
        2026-11-19_044353_count-words-and-characters · words
        needs you 1 of 5 done, 1 running, 1 failed7 min ago · at an unknown price
    "]]
    .assert_eq(&part_text("inbox", "inbox-list"));
}

#[test]
fn the_head_of_a_run_says_how_it_stands() {
    expect![[r"
        words / 2026-11-19_044353_count-words-and-characters
        Count words and characters
        needs you Is this change what you want? 1 of 5 tasks done, 1 failed
        task-002 Is this change what you want?
        Overview
        Board
        Graph
        Timeline
        Plan
        Files
        Cost
        Events
    "]]
    .assert_eq(&part_text("run", "run-head"));
}

#[test]
fn a_run_shows_who_is_at_work_and_what_was_given_up() {
    expect![[r"
        Now
        waiting waiting on: a person (task-002)
        Stopped
        failed
        task-005
        [button] Retry
        [button] Leave it out
    "]]
    .assert_eq(&part_text("run", "run-now"));
}

#[test]
fn an_approval_shows_the_risk_who_has_voted_and_who_is_missing() {
    let text = part_text("approval", "question-facts");
    for words in [
        "Risk: high",
        "`src/auth/session.py` is code for signing in",
        "ben user id 1001: Looks right to me",
        "1 more of anna, eva",
        "it goes on in 25 min unless somebody rejects it",
        "Against it: style",
        "An empty file makes it fail",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn an_approval_that_is_grave_wants_the_task_typed() {
    expect![[r"
        Nobody drives the run. Your decision is kept until it goes on.
        Approve
        overrules style
        A remark, if you have one
        [text]
        This cannot be taken back easily. Type task-002 to approve it
        [button] Approve
        Reject
        answer so, and go on
        1 comment goes with it:
        src/report.py:4-5
        Use `with`, so that the file is closed.
        What else the next worker must know
        [text]
        [button] Reject
        Or change it yourself
        This opens a worktree with the change, and hands it back when you are done:
        codeteam edit 2026-11-19_044353_count-words-and-characters --task task-002
        Hand my vote to somebody else
        Who votes
        eva
        ben
        Why
        [text]
        [button] Hand it over
    "]]
    .assert_eq(&part_text("approval", "question-forms"));
}

#[test]
fn a_board_has_a_column_for_each_state() {
    expect![[r"
        needs you 1
        task-002
        Print the counts as JSON
        Is this change what you want?
        working 0
        none
        waiting 2
        task-003
        Describe the output
        for task-002
        after task-002
        task-004
        Read from standard input
        for task-002
        after task-002
        failed 1
        task-005
        Package it
        `code` gave up: There is no build backend to use
        done 1
        task-001
        Count characters
    "]]
    .assert_eq(&part_text("board", "board-columns"));
}

#[test]
fn an_output_is_shown_line_by_line() {
    expect![[r"
        Output 123 lines
        Which lines
        all lines
        errors only
        tools only
        Search in the output
        [button] Show
        Download
        To the beginningEarlier lines
        119I read src/count.py first.
        120toolread src/count.py
        121It has no function for characters, so I add one, and then write report.py, which prints both counts as one JSON object.
        122errorTraceback (most recent call last): File &quot;src/report.py&quot;, line 6, in &lt;module&gt; IndexError: list index out of range
        123It needs the path of a file.
    "]].assert_eq(&part_text("attempt", "attempt-log"));
}

#[test]
fn findings_and_comments_stand_below_the_lines_that_they_are_about() {
    let fixture = Fixture::recorded();
    let shell = fixture.shell("/here", Theme::Light);
    let pages = fixture.pages();
    let (_, page) = pages.iter().find(|(name, _)| *name == "diff").unwrap();
    let html = render_page(&shell, page, Some("file-2"));
    let places = [
        html.find("from count import"),
        html.find("Your comment on src/report.py:4-5"),
        html.find("text = open(sys.argv[1])"),
        html.find("F1 by review, open"),
    ];
    assert!(places.iter().all(Option::is_some), "{html}");
    assert!(places.is_sorted(), "{places:?}\n{html}");
}

#[test]
fn the_steps_of_a_long_output_are_not_listed_and_the_page_says_so() {
    let fixture = Fixture::recorded();
    let shell = fixture.shell("/here", Theme::Light);
    let mut pages = fixture.pages().into_iter();
    let (_, page) = pages.find(|(name, _)| *name == "attempt").unwrap();
    let Page::Attempt(mut attempt) = page else {
        panic!("{page:?}")
    };
    (attempt.trace, attempt.is_untraced) = (None, true);
    let steps = render_page(&shell, &Page::Attempt(attempt), Some("attempt-steps"));
    expect![[r"
        What it was told, did and answered
        Prompt as textAnswer as text
        Its output is too long to list every step here. codeteam trace does.
    "]]
    .assert_eq(&visible_text(&steps));
}
