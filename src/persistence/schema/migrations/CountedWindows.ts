/**
 * How `open_steps` counts all steps of a batch in their windows, and makes the rows of windows that are unused yet. INSERT returns its rows in
 * the order in which it writes them: to pair them by their keys makes a batch of eight a tenth dearer.
 */
export const countedTogether = `FOR used_after IN
      INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
      SELECT s.app_id, s.mode, s.name, s.subject, s.starts_at, s.asked
      FROM unnest(p_window_app_id, p_window_mode, p_window_name, p_window_subject, p_window_starts_at, asked)
        WITH ORDINALITY AS s(app_id, mode, name, subject, starts_at, asked, n)
      ORDER BY s.n
      ON CONFLICT (starts_at, app_id, mode, name, subject) DO UPDATE SET used = c.used + EXCLUDED.used
      RETURNING c.used
    LOOP
      number := number + 1;
      used_so_far[number] := used_after - asked[number];
    END LOOP;`

/** The same on Citus, where that order is nowhere promised, and where a window that all tenants share lies on another server. */
export const countedOneByOne = `FOR r IN
      SELECT s.* FROM unnest(p_window_app_id, p_window_mode, p_window_name, p_window_subject, p_window_starts_at, asked)
        WITH ORDINALITY AS s(app_id, mode, name, subject, starts_at, asked, n) ORDER BY s.n
    LOOP
      INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used) VALUES (r.app_id, r.mode, r.name, r.subject, r.starts_at, r.asked)
        ON CONFLICT (starts_at, app_id, mode, name, subject) DO UPDATE SET used = c.used + EXCLUDED.used RETURNING c.used INTO used_after;
      used_so_far[r.n] := used_after - r.asked;
    END LOOP;`
