"""Three graders on the same submissions: ours, nbgrader's autograder and otter-grader.

In reading order: `suite` has the submissions, `graders` calls each grader, `otter` makes otter's assignment (nbgrader's
is in its own format), `world` is the sandbox where they run, `observer` watches them there, `table` shows the results.
`crowd` grades a class of hundreds with ours alone.
"""
