SECRET_KEY = '⟦86i⟂z#cfwkn-e⟂mc2o*9tqu⟂cbey6t%!b⟂h%!t=hb!_⟂=c*ndv_7p⟂m7⟧'
