-- A row for each assignment and student, in nbgrader's columns. A person's points take precedence over ours, unless the
-- answer has changed since. Without points for every part, or without a submission, there is no score.
WITH given AS (
    SELECT
        submitted_notebook.assignment_id AS submission,
        CASE WHEN manual_score IS NULL OR needs_manual_grade THEN auto_score ELSE manual_score END
            + coalesce(extra_credit, 0) AS points
    FROM grade JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
),
raw AS (
    SELECT submission, CASE WHEN count(points) = count(*) THEN sum(points) END AS raw_score
    FROM given GROUP BY submission
),
late AS (
    SELECT assignment_id AS submission, coalesce(sum(late_submission_penalty), 0.0) AS late_submission_penalty
    FROM submitted_notebook GROUP BY assignment_id
),
possible AS (
    SELECT assignment_id, sum(max_score) AS max_score
    FROM (SELECT id, max_score FROM grade_cells UNION ALL SELECT id, max_score FROM task_cells)
    JOIN base_cell USING (id)
    JOIN notebook ON notebook.id = notebook_id
    GROUP BY assignment_id
)
SELECT
    name AS assignment, duedate, timestamp, student.id AS student_id, last_name, first_name, email, raw_score,
    late_submission_penalty, max(0.0, raw_score - late_submission_penalty) AS score, max_score
FROM assignment
CROSS JOIN student
LEFT JOIN submitted_assignment AS handed ON handed.assignment_id = assignment.id AND student_id = student.id
LEFT JOIN raw ON raw.submission = handed.id
LEFT JOIN late ON late.submission = handed.id
LEFT JOIN possible ON possible.assignment_id = assignment.id
ORDER BY name, student.id
