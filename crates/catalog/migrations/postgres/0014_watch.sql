-- Since when nodes have been beating without a gap: before that, a missing beat proves nothing.
CREATE TABLE cluster_watch (
    id BIGINT PRIMARY KEY,
    since BIGINT NOT NULL,
    beat_at BIGINT NOT NULL
);
INSERT INTO cluster_watch (id, since, beat_at) VALUES (1, 0, 0);
