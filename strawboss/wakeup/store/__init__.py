"""The task store: SQLite or PostgreSQL through SQLAlchemy Core. Functions over one connection, one module per table family."""
