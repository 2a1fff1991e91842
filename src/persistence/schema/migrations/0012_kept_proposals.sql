-- What was proposed is what is approved: no program changes it in between, and none takes it away.

CREATE FUNCTION keep_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN RAISE EXCEPTION 'a proposal is kept'; END IF;
  IF (NEW.id, NEW.kind, NEW.subject, NEW.details, NEW.proposed_by, NEW.proposed_at)
    IS DISTINCT FROM (OLD.id, OLD.kind, OLD.subject, OLD.details, OLD.proposed_by, OLD.proposed_at)
  THEN RAISE EXCEPTION 'what was proposed does not change'; END IF;
  IF OLD.status NOT IN ('open', 'approved') THEN RAISE EXCEPTION 'the proposal is over'; END IF;
  IF OLD.status = 'approved' AND (NEW.decided_by, NEW.decided_at) IS DISTINCT FROM (OLD.decided_by, OLD.decided_at)
  THEN RAISE EXCEPTION 'who approved it does not change'; END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON console_proposals FOR EACH ROW EXECUTE FUNCTION keep_proposal();
