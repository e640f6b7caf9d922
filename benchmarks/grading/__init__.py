"""Three graders on the same submissions: ours, nbgrader's autograder and otter-grader.

In the order of reading: `suite` is what is handed in, `graders` how each is called, `otter` and its twin in nbgrader's
own format what they grade by, `world` is where they run and `observer` what looks on there, `table` is what is told.
`crowd` is a class of hundreds, for ours alone.
"""
