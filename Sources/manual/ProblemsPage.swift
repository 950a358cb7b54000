import Reporting

/// photoinbox-problems(7).
func problemsPage() -> String {
    var page = Roff(
        "photoinbox-problems", section: 7, purpose: "the problems that photo-inbox reports, and what to do")
    page.heading("DESCRIPTION")
    page.paragraph(
        "\"photoinbox status\", the journal and the state dump identify each problem by a code, which is never reused. A "
            + "problem goes away by itself when its cause does. Words in capitals are placeholders.")
    page.item("notice", ["No action is needed."])
    page.item("warning", ["Something needs a person; everything else continues."])
    page.item("stopped", ["No photo is filed until it is over."])
    page.heading("PROBLEMS")
    for code in ProblemCode.allCases {
        let row = code.row
        page.subheading("\(code.rawValue) (\(row.severity.rawValue))")
        page.paragraph(row.title.generalText)
        page.item("Effect", [row.effect.generalText])
        page.item("Action", [row.action.generalText])
        if row.showAfter > 0 { page.item("Shown", ["when it has lasted for \(row.showAfter) seconds"]) }
        if !row.hiddenBy.isEmpty {
            let causes = row.hiddenBy.map {
                $0.code.rawValue + ($0.scope == .sameSubject ? " of the same subject" : "")
            }
            page.item("Hidden by", [causes.joined(separator: ", ")])
        }
    }
    page.heading("SEE ALSO")
    page.paragraph("photoinbox(1), photoinbox.toml(5), photoinboxd(8)")
    return page.text
}
