# A folder as sensors, hospitals, banks and spreadsheets write it, in five languages. Each file is read without options,
# or refused by one line that names the option which then works.
put() { printf "$2" >"$1"; }
show() { sed -n '1p; /^  variable/,$p' | grep -v '^  variable\|^$' | sed 's/  */ /g'; }
n=0
reads() {
    n=$((n + 1))
    echo "$n $1"
    llapdiff inspect "$1" 2>err | show
    grep '^llapdiff\|^warning' err
}
refused() {
    n=$((n + 1))
    file=$1
    shift
    echo "$n $file: refused"
    llapdiff inspect "$file" -q 2>&1
    echo "$@"
    llapdiff inspect "$file" -q "$@" 2>&1 | show
}
# spreadsheets
put umsatz.csv 'Datum;Umsatz;Kosten\n01.02.2024;1.538,65;12,5\n02.02.2024;987,10;13\n03.02.2024;2.001,00;9,75\n'
reads umsatz.csv
put sales.csv 'Date,Sales,Units\n2/13/2024,"1,234.50",7\n2/14/2024,"12,345.00",8\n2/15/2024,99.5,9\n'
reads sales.csv
put ventes.csv 'Date;Ventes;Clients\n13/02/2024;1 234,5;10\n14/02/2024;\302\240987,25;12\n15/02/2024;12\302\240345,75;9\n'
reads ventes.csv
put schweiz.csv "Zeit;Wert\n2024-02-01 00:00;1'234.5\n2024-02-01 01:00;1'240.0\n2024-02-01 02:00;990.5\n"
reads schweiz.csv
put vendite.csv 'Data;Ora;Incasso\n10/03/2004;18.00;2,6\n10/03/2004;19.00;2\n10/03/2004;20.00;2,25\n'
reads vendite.csv
put ventas.csv '\357\273\277Fecha;Ventas;;\r\n13/02/2024;5,5;;\r\n14/02/2024;6,5;;\r\n;;;\r\n'
reads ventas.csv
put total.csv 'Datum;Betrag\n01.02.2024;10,5\n02.02.2024;11,5\n13.02.2024;12\nSumme;34\n'
reads total.csv
put pivot.csv ',Nord,,Sud,\ntime,temp,hum,temp,hum\n2024-01-01,1,50,3,60\n2024-01-02,2,51,4,61\n'
reads pivot.csv
put mac.csv 'time,x\r2024-01-01,1\r2024-01-02,2\r'
reads mac.csv
put ambiguous.csv 'Datum;Menge\n13.02.2024;1.234\n14.02.2024;5.678\n'
refused ambiguous.csv --decimal ,
put points.csv 'time;x\n2024-01-01;1,234\n2024-01-02;5,678\n'
refused points.csv --decimal ,
put percent.csv 'time,load,share\n2024-01-01,5,75 %%\n2024-01-02,6,80 %%\n'
refused percent.csv --drop share
put mixed.csv 'time;a;b;c\n2024-01-01;1,25;7.5;2,5\n2024-01-02;5,67;8.25;3,5\n'
refused mixed.csv --drop b
# banks
put konto.csv 'Kontoauszug Nr. 7;;\nIBAN DE00;;\n;;\nBuchungstag;Betrag;Saldo\n13.02.2024;-1.200,00;5.000,00\n14.02.2024;20,50;5.020,50\n15.02.2024;-3,75;5.016,75\n'
reads konto.csv
put statement.csv 'Account statement\nPeriod: February\nDate,Amount,Balance\n2024-02-13,"-1,200.00","5,000.00"\n2024-02-14,20.50,"5,020.50"\nTotal,-1179.5,\n'
reads statement.csv
put releve.csv '# relev\351\n# compte 7\nDate;Montant\n13/02/2024;-12,50\n14/02/2024;1 020,00\n'
reads releve.csv
put euro.csv 'Datum;Preis;Menge\n13.02.2024;12,50 \342\202\254;3\n14.02.2024;13,50 \342\202\254;4\n'
refused euro.csv --drop Preis
put ticks.csv 'epoch,price\n1707782400000,10.5\n1707782460000,10.6\n1707782520000,10.4\n'
reads ticks.csv
# sensors
put logger.csv '# Logger 12\n# "Boden, Nord\ntime,temp,moist\n[s],[\302\260C],[%%]\n0,1.5,20\n60,1.6,21\n120,1.7,22\n'
reads logger.csv
put buoy.txt '#YY  MM DD hh mm WVHT  DPD\n#yr  mo dy hr mn    m  sec\n2024 01 01 00 50  1.5  4.2\n2024 01 01 01 50  1.6  4.3\n'
reads buoy.txt
put matlab.txt '%% t  x\n%%\n1.0 2.5\n2.0 3.5\n3.0 4.5\n'
reads matlab.txt
put code.csv '// made by firmware 2\ntime,v\n2024-01-01T00:00:00+01:00,3.3\n2024-01-01T00:07:00+01:00,3.2\n'
reads code.csv
put joined.csv 'time,x\n2024-01-01,1\n2024-01-02,2\ntime,x\n2024-01-03,3\n'
reads joined.csv
put lone.txt '3.5\n4.5\nNA\n5.5\n'
refused lone.txt --start 2024-01-01 --every 10min
put status.csv 'time,x,state\n2024-01-01,1,OK\n2024-01-02,2,OK\n2024-01-03,3,FAIL\n2024-01-04,4,OK\n'
reads status.csv
put wind.csv 'time,speed,dir\n2024-01-01,3,N\n2024-01-02,4,NNE\n2024-01-03,5,N\n2024-01-04,5,NNE\n'
reads wind.csv
put saturated.csv 'time,x\n2024-01-01,1\n2024-01-02,-9999\n2024-01-03,-9999\n2024-01-04,2\n2024-01-05,-9999\n2024-01-06,3\n'
reads saturated.csv
put bad.csv 'time,x\n2024-01-01,1\n2024-01-02,Err\n2024-01-03,2\n2024-01-04,3\n'
refused bad.csv --missing Err
put rtable.txt '"time" "x"\n"1" 10 2.5\n"2" 20 3.5\n'
reads rtable.txt
# hospitals
put vitals.csv 'Time,Parameter,Value\n00:07,HR,73\n00:37,HR,75\n25:30,GCS,15\n'
reads vitals.csv
put station.csv 'patient;charttime;Puls;Geschlecht\n7;2024-02-13 08:00;80;w\n7;2024-02-13 09:00;82;w\n9;2024-02-13 08:00;70;m\n9;2024-02-13 09:00;71;m\n'
reads station.csv
put labo.csv 'Patient;Date;Heure;Glyc\303\251mie\nA;13/02/2024;08:00;5,4\nA;13/02/2024;12:00;6,1\nB;13/02/2024;08:00;4,9\n'
reads labo.csv
put lab.csv 'patient,time,crp\nA,2024-02-13T08:00,<0.5\nA,2024-02-14T08:00,<0.5\nA,2024-02-15T08:00,3.1\n'
refused lab.csv --missing '<0.5'
put uci.csv 'Fecha;Hora;Pulso\n13/02/2024;08:00;80\n13/02/2024;09:00;s/d\n13/02/2024;10:00;82\n'
reads uci.csv
put rows.txt 'time|x\n2024-01-01|1\n2024-01-02|2\n(2 rows)\n'
reads rows.txt
put wide.tsv 'time\ta\tb\n2024-01-01\t1\t\n2024-01-02\t\t2\n'
reads wide.tsv
put utc.csv 'timestamp_utc,kWh\n20240213T080000Z,1.5\n20240213T090000Z,1.7\n'
reads utc.csv
put americain.csv 'Date,x\nFeb 13 2024,1\nFeb 14 2024,2\n'
reads americain.csv
put misura.csv 'Data misura;Temperatura\n13/02/2024 08.00;12,5\n13/02/2024 09.00;12,7\n'
reads misura.csv
put meting.csv 'Datum;Tijd;Waarde\n13-02-2024;08:00;1,5\n13-02-2024;09:00;1,6\n'
reads meting.csv
