module stampede/front

go 1.24
