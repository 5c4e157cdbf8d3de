-- oldest program: 15
--
-- Which programs can live with the schema. A program is named by the newest migration that it knows; each migration
-- from here on names the oldest program that can serve while it is applied (docs/upgrades.md). Null, as for those
-- before: only programs that know the migration itself.
ALTER TABLE millrace.migrations ADD COLUMN oldest integer CHECK (oldest <= version);
