-- An empty gradebook, as nbgrader 0.9.6 makes one.
CREATE TABLE IF NOT EXISTS student (
    id VARCHAR(128) NOT NULL,
    first_name VARCHAR(128),
    last_name VARCHAR(128),
    email VARCHAR(128),
    lms_user_id VARCHAR(128),
    PRIMARY KEY (id)
);
CREATE TABLE IF NOT EXISTS course (
    id VARCHAR(128) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (id)
);
CREATE TABLE IF NOT EXISTS assignment (
    id VARCHAR(32) NOT NULL,
    name VARCHAR(128) NOT NULL,
    duedate DATETIME,
    course_id VARCHAR(128) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name),
    FOREIGN KEY(course_id) REFERENCES course (id)
);
CREATE TABLE IF NOT EXISTS notebook (
    id VARCHAR(32) NOT NULL,
    name VARCHAR(128) NOT NULL,
    assignment_id VARCHAR(32),
    kernelspec VARCHAR(1024),
    PRIMARY KEY (id),
    UNIQUE (name, assignment_id),
    FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);
CREATE TABLE IF NOT EXISTS submitted_assignment (
    id VARCHAR(32) NOT NULL,
    assignment_id VARCHAR(32),
    student_id VARCHAR(128),
    timestamp DATETIME,
    extension DATETIME,
    PRIMARY KEY (id),
    UNIQUE (assignment_id, student_id),
    FOREIGN KEY(assignment_id) REFERENCES assignment (id),
    FOREIGN KEY(student_id) REFERENCES student (id)
);
CREATE TABLE IF NOT EXISTS base_cell (
    id VARCHAR(32) NOT NULL,
    name VARCHAR(128) NOT NULL,
    notebook_id VARCHAR(32) NOT NULL,
    type VARCHAR(50),
    PRIMARY KEY (id),
    UNIQUE (name, notebook_id, type),
    FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
CREATE TABLE IF NOT EXISTS source_cell (
    id VARCHAR(32) NOT NULL,
    name VARCHAR(128) NOT NULL,
    cell_type VARCHAR(8) NOT NULL,
    locked BOOLEAN NOT NULL,
    source TEXT,
    checksum VARCHAR(128),
    notebook_id VARCHAR(32),
    PRIMARY KEY (id),
    UNIQUE (name, notebook_id),
    FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
CREATE TABLE IF NOT EXISTS submitted_notebook (
    id VARCHAR(32) NOT NULL,
    assignment_id VARCHAR(32),
    notebook_id VARCHAR(32),
    flagged BOOLEAN,
    late_submission_penalty FLOAT,
    PRIMARY KEY (id),
    UNIQUE (notebook_id, assignment_id),
    FOREIGN KEY(assignment_id) REFERENCES submitted_assignment (id),
    FOREIGN KEY(notebook_id) REFERENCES notebook (id)
);
CREATE TABLE IF NOT EXISTS grade_cells (
    id VARCHAR(32) NOT NULL,
    max_score FLOAT NOT NULL,
    cell_type VARCHAR(8) NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(id) REFERENCES base_cell (id)
);
CREATE TABLE IF NOT EXISTS solution_cells (
    id VARCHAR(32) NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(id) REFERENCES base_cell (id)
);
CREATE TABLE IF NOT EXISTS task_cells (
    id VARCHAR(32) NOT NULL,
    max_score FLOAT NOT NULL,
    cell_type VARCHAR(8) NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(id) REFERENCES base_cell (id)
);
CREATE TABLE IF NOT EXISTS grade (
    id VARCHAR(32) NOT NULL,
    notebook_id VARCHAR(32),
    cell_id VARCHAR(32),
    auto_score FLOAT,
    manual_score FLOAT,
    extra_credit FLOAT,
    needs_manual_grade BOOLEAN NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (cell_id, notebook_id),
    FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id),
    FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
CREATE TABLE IF NOT EXISTS comment (
    id VARCHAR(32) NOT NULL,
    notebook_id VARCHAR(32),
    cell_id VARCHAR(32),
    auto_comment TEXT,
    manual_comment TEXT,
    PRIMARY KEY (id),
    UNIQUE (cell_id, notebook_id),
    FOREIGN KEY(notebook_id) REFERENCES submitted_notebook (id),
    FOREIGN KEY(cell_id) REFERENCES base_cell (id)
);
CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL);
INSERT INTO alembic_version SELECT 'e43177bfe90b' WHERE NOT EXISTS (SELECT * FROM alembic_version);
