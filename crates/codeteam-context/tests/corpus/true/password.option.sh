mysqldump --user=app --password=⟦kV9⟂wq2Lr7x⟧ app > dump.sql
