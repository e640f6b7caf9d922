-- What people gave: points, unless they are to be looked at again, and words.
SELECT student_id, assignment.name, base_cell.name, points, words
FROM (
    SELECT notebook_id, cell_id, manual_score AS points, '' AS words FROM grade WHERE NOT needs_manual_grade
    UNION ALL
    SELECT notebook_id, cell_id, NULL, manual_comment FROM comment
) AS given
JOIN base_cell ON base_cell.id = cell_id
JOIN submitted_notebook ON submitted_notebook.id = given.notebook_id
JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
JOIN assignment ON assignment.id = submitted_assignment.assignment_id
WHERE points IS NOT NULL OR words <> ''
