-- The deployment that made a version, or that last agreed with it. A unit of a deployment whose version has another was
-- changed by hand.
ALTER TABLE versions ADD COLUMN deployment_id BIGINT;
-- The owner of a unit when it was removed: it gets the unit back if a change on live brings it back.
ALTER TABLE units ADD COLUMN last_deployment_id BIGINT;

-- An escaped NUL is valid JSON that PostgreSQL does not read; such an event is skipped.
UPDATE versions SET deployment_id = made.deployment_id FROM (
    SELECT m.version_id AS version_id, d.id AS deployment_id
    FROM (SELECT unit_id, version_id, min(from_seq) AS seq FROM memberships GROUP BY unit_id, version_id) AS m
    JOIN units u ON u.id = m.unit_id
    JOIN (
        SELECT app_id, CASE WHEN position('\u0000' IN after_json) = 0 THEN (after_json::json ->> 'number')::bigint END AS seq,
            CASE WHEN position('\u0000' IN after_json) = 0 THEN after_json::json ->> 'deployment' END AS deployment
        FROM events WHERE kind = 'app-version.created' AND after_json LIKE '%"deployment"%'
    ) AS e ON e.app_id = u.app_id AND e.seq = m.seq
    JOIN deployments d ON d.app_id = u.app_id AND d.key = e.deployment
) AS made WHERE versions.id = made.version_id;
