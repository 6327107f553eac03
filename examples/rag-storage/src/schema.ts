/** The tables. Chunks have no unique key, so that a transaction that runs twice would leave duplicates. */
export const SCHEMA = `
  DROP TABLE IF EXISTS mentions, chunks, entities, documents;
  CREATE TABLE documents (id text PRIMARY KEY, title text NOT NULL);
  CREATE TABLE chunks (document text NOT NULL REFERENCES documents, position int NOT NULL, embedding float8[] NOT NULL);
  CREATE TABLE entities (name text PRIMARY KEY, mentions int NOT NULL DEFAULT 0);
  CREATE TABLE mentions (document text REFERENCES documents, entity text REFERENCES entities, PRIMARY KEY (document, entity));
`
