-- Grades by people: points, unless they must be checked again, and comments. A part of code keeps them in two cells.
SELECT
    student_id, assignment.name,
    CASE WHEN base_cell.name LIKE 'check-%' THEN substr(base_cell.name, 7) ELSE base_cell.name END AS part,
    max(CASE WHEN NOT needs_manual_grade THEN manual_score END) AS points, max(manual_comment) AS words
FROM base_cell
JOIN submitted_notebook USING (notebook_id)
JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
JOIN assignment ON assignment.id = submitted_assignment.assignment_id
LEFT JOIN grade ON grade.cell_id = base_cell.id AND grade.notebook_id = submitted_notebook.id
LEFT JOIN comment ON comment.cell_id = base_cell.id AND comment.notebook_id = submitted_notebook.id
GROUP BY student_id, assignment.name, part
HAVING points IS NOT NULL OR words <> ''
