-- Update a gradebook from the table `came`, which has a row for each part of each submission.
-- Grades that a person gave stay; if the answer has changed since, it needs manual grading again.
BEGIN;

INSERT OR IGNORE INTO course (id) VALUES ('default_course');
INSERT OR IGNORE INTO assignment (id, name, course_id)
    SELECT uuid(), exercise, 'default_course' FROM came GROUP BY exercise;
INSERT OR IGNORE INTO notebook (id, name, assignment_id)
    SELECT uuid(), name, id FROM assignment WHERE name IN (SELECT exercise FROM came);

CREATE TEMP VIEW part AS
    SELECT DISTINCT notebook.id AS notebook_id, exercise, answer, graded, kind, most
    FROM came
    JOIN assignment ON assignment.name = exercise
    JOIN notebook ON notebook.assignment_id = assignment.id AND notebook.name = exercise;

INSERT OR IGNORE INTO base_cell (id, name, notebook_id, type)
    SELECT uuid(), graded, notebook_id, 'GradeCell' FROM part;
INSERT OR IGNORE INTO base_cell (id, name, notebook_id, type)
    SELECT uuid(), answer, notebook_id, 'SolutionCell' FROM part;
INSERT OR IGNORE INTO solution_cells (id) SELECT id FROM base_cell WHERE type = 'SolutionCell';
INSERT INTO grade_cells (id, max_score, cell_type)
    SELECT id, most, kind
    FROM part
    JOIN base_cell ON name = graded AND base_cell.notebook_id = part.notebook_id AND type = 'GradeCell'
    WHERE true
    ON CONFLICT (id) DO UPDATE SET max_score = excluded.max_score, cell_type = excluded.cell_type;

INSERT INTO student (id, first_name, last_name)
    SELECT student, first, last FROM came WHERE true
    ON CONFLICT (id) DO UPDATE SET
        first_name = coalesce(excluded.first_name, first_name), last_name = coalesce(excluded.last_name, last_name);
INSERT OR IGNORE INTO submitted_assignment (id, assignment_id, student_id)
    SELECT uuid(), assignment.id, student FROM came JOIN assignment ON name = exercise;
INSERT OR IGNORE INTO submitted_notebook (id, assignment_id, notebook_id, flagged)
    SELECT uuid(), submitted_assignment.id, notebook.id, false
    FROM submitted_assignment
    JOIN notebook USING (assignment_id)
    WHERE notebook.id IN (SELECT notebook_id FROM part);

CREATE TEMP VIEW handed_in AS
    SELECT submitted_notebook.id AS notebook_id, base_cell.id AS cell_id, type
    FROM submitted_notebook
    JOIN base_cell USING (notebook_id)
    WHERE notebook_id IN (SELECT notebook_id FROM part);
INSERT OR IGNORE INTO comment (id, notebook_id, cell_id)
    SELECT uuid(), notebook_id, cell_id FROM handed_in WHERE type IN ('SolutionCell', 'TaskCell');
INSERT OR IGNORE INTO grade (id, notebook_id, cell_id, needs_manual_grade)
    SELECT uuid(), notebook_id, cell_id, true FROM handed_in WHERE type IN ('GradeCell', 'TaskCell');

CREATE TEMP TABLE point AS
    SELECT submitted_notebook.id AS notebook_id, base_cell.id AS cell_id, points, waits, changed
    FROM came
    JOIN part USING (exercise, graded)
    JOIN base_cell ON name = graded AND base_cell.notebook_id = part.notebook_id AND type = 'GradeCell'
    JOIN submitted_notebook ON submitted_notebook.notebook_id = part.notebook_id
    JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id AND student_id = student;
INSERT INTO grade (id, notebook_id, cell_id, auto_score, needs_manual_grade)
    SELECT uuid(), notebook_id, cell_id, points, waits FROM point WHERE true
    ON CONFLICT (cell_id, notebook_id) DO UPDATE SET
        auto_score = excluded.auto_score,
        needs_manual_grade =
            CASE WHEN manual_score IS NULL THEN excluded.needs_manual_grade ELSE needs_manual_grade END;
UPDATE grade SET needs_manual_grade = true
    WHERE manual_score IS NOT NULL AND (notebook_id, cell_id) IN (SELECT notebook_id, cell_id FROM point WHERE changed);

COMMIT;
